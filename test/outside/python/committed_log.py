"""What was read of all topics, decoded."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Optional

from specification import FEEDS
from topic_records import RawRecord


@dataclass(frozen=True)
class Record:
    raw: RawRecord
    key: str
    headers: dict
    schema_id: Optional[int]
    type: Optional[str]  # full name, None for a tombstone
    value: Optional[dict]

    def __str__(self):
        return str(self.raw)


class CommittedLog:
    def __init__(self, partitions, raw_records, registry):
        self.partitions = partitions
        self.records = []
        # What could not be read, in words.
        self.unreadable = []
        self._by_topic = defaultdict(list)
        for raw in raw_records:
            try:
                record = _decoded(raw, registry)
            except Exception as error:  # whatever a reader may stumble over
                self.unreadable.append(f"{raw}: {error}")
                continue
            self.records.append(record)
            self._by_topic[raw.topic].append(record)
        self.changes = {feed: _changes(self.topic(feed)) for feed in FEEDS}

    def topic(self, name):
        """Records by partition and offset."""
        return self._by_topic[name]

    def table(self, name):
        """The latest record of each key, without those that were deleted."""
        latest = {record.key: record for record in self.topic(name)}
        return {key: record for key, record in latest.items() if record.value is not None}


def _decoded(raw, registry):
    if raw.key is None:
        raise ValueError("it has no key")
    headers = {name: value.decode("utf-8") for name, value in raw.headers}
    if len(headers) < len(raw.headers):
        raise ValueError(f"a header stands twice: {raw.headers}")
    schema_id, name, value = (None, None, None) if raw.value is None else registry.decode(raw.value)
    return Record(raw, raw.key.decode("utf-8"), headers, schema_id, name, value)


def _changes(records):
    """Change events in the order of their numbers, an incarnation after the other."""
    events = [record for record in records if record.value is not None and "source" in record.value]
    return sorted(events, key=lambda event: (event.value["source"]["incarnation"], event.value["source"]["seq"]))
