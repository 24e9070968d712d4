"""Copies the committed records of an installation's topics to topics with another prefix, and makes a copy of a few records wrong.

Usage: damaged_copy.py BROKERS REGISTRY_URL PREFIX COPY_PREFIX

Prints as JSON what was made wrong: [{"what": in words, "check": the check that must fail, "names": what it must name}].
"""

import io
import json
import sys
from dataclasses import replace

import fastavro
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from registry import Registry
from specification import DEAL_STATUS
from topic_records import read_topics


class Copy:
    """The records to be written, by topic; those that are made wrong are all of different keys."""

    def __init__(self, records, registry):
        self.records = records
        self._registry = registry
        self.damages = []
        self._keys = set()

    def pick(self, topic, wanted=lambda value: True):
        """The position and value of a late record whose key was not picked before."""
        for at in range(len(self.records) - 1, -1, -1):
            record = self.records[at]
            if record.topic != topic or record.value is None or record.key in self._keys:
                continue
            value = self._registry.decode(record.value)[2]
            if wanted(value):
                self._keys.add(record.key)
                return at, value
        raise LookupError(f"{topic} has no record that could be made wrong")

    def last_seq(self, feed):
        values = (self._registry.decode(record.value)[2] for record in self.records if record.topic == feed)
        return max(value["source"]["seq"] for value in values)

    def damaged(self, what, check, names):
        self.damages.append({"what": what, "check": check, "names": names})

    def encoded(self, record, value):
        """The record with another value of the same schema."""
        schema_id = int.from_bytes(record.value[1:5], "big")
        body = io.BytesIO()
        fastavro.schemaless_writer(body, self._registry.schema(schema_id), value)
        return replace(record, value=record.value[:5] + body.getvalue())


def damage(copy):
    is_update = lambda value: value["op"] == "u"

    at, value = copy.pick("ipos", is_update)
    record = copy.records[at]
    headers = [(name, b"d" if name == "op" else content) for name, content in record.headers]
    copy.records[at] = replace(record, headers=headers)
    copy.damaged("a header that says another op", "headers", record.key.decode())

    # Not the last one of its feed: behind that no gap would show.
    last = copy.last_seq("analysts")
    at, value = copy.pick("analysts", lambda value: is_update(value) and value["source"]["seq"] < last)
    del copy.records[at]
    copy.damaged("an event that was dropped", "sequence", value["event_id"])

    at, value = copy.pick("insights", is_update)
    copy.records.insert(at + 1, copy.records[at])
    copy.damaged("an event that was written twice", "once", value["event_id"])

    at, value = copy.pick("ipos", is_update)
    value["before"]["name"] = "Another Name"
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("a before that is not the last after", "chain", copy.records[at].key.decode())

    at, value = copy.pick("insights", is_update)
    value["changed_fields"] = ["analyst_insights", *value["changed_fields"], "firm"]
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("fields named as changed that are not", "envelopes", value["event_id"])

    at, value = copy.pick("ipos", is_update)
    value["after"]["description"] = "Nothing that the API has said."
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("an image that the API has never shown", "versions", copy.records[at].key.decode())

    at, value = copy.pick("analysts.current")
    record = copy.records[at]
    copy.records.append(replace(record, value=None))
    copy.damaged("a tombstone of a record that lives", "tables", record.key.decode())
    copy.damaged("a tombstone that no event calls for", "tombstones", record.key.decode())
    copy.damaged("a row that the API shows and the table lacks", "truth", record.key.decode())

    at, value = copy.pick("ipos.current")
    value["deal_status"] = "Another Status"
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("a row that is not the latest after", "tables", value["id"])
    copy.damaged("a row that is not what the API shows", "truth", value["id"])

    at, value = copy.pick("insights.current")
    record = copy.records[at]
    copy.records[at] = replace(record, partition=(record.partition + 1) % 3)
    copy.damaged("a record in another key's partition", "partitions", record.key.decode())

    at, value = copy.pick(DEAL_STATUS)
    del copy.records[at]
    copy.damaged("a status change that is missing", "deal status", value["event_id"])

    at, value = copy.pick("insights.rating-changes")
    value["previous_rating"] = "Another Rating"
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("a rating change from a rating that was not", "rating changes", value["event_id"])

    at, value = copy.pick("ipos.source-offset")
    value["record_count"] += 1
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("a count of rows that is wrong", "source offsets", "ipos.source-offset: record_count")

    at, value = copy.pick("ipos.dead-letters")
    value["raw"] = value["raw"].replace("{", "{ ", 1)
    copy.records[at] = copy.encoded(copy.records[at], value)
    copy.damaged("a dead letter whose hash is of another text", "dead letters", value["sha256"])

    at, value = copy.pick("ipos.dead-letters")
    record = copy.records[at]
    copy.records[at] = replace(record, value=record.value[:-1])
    copy.damaged("a value that is cut off", "readable", str(record).split("@")[0])


def main():
    brokers, registry_url, prefix, copy_prefix = sys.argv[1:]
    partitions, records = read_topics(brokers, prefix)
    copy = Copy(records, Registry(registry_url))
    damage(copy)

    admin = AdminClient({"bootstrap.servers": brokers})
    topics = [NewTopic(copy_prefix + name, count, -1) for name, count in partitions.items()]
    for created in admin.create_topics(topics).values():
        created.result(30)
    producer = Producer(
        {
            "bootstrap.servers": brokers,
            # Else a batch that is sent again comes after those behind it.
            "enable.idempotence": True,
            "queue.buffering.max.messages": len(copy.records) + 1,
        }
    )
    failures = []
    for record in copy.records:
        producer.produce(
            copy_prefix + record.topic,
            record.value,
            record.key,
            record.partition,
            timestamp=record.timestamp,
            headers=list(record.headers),
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
    if producer.flush(30) or failures:
        sys.exit(f"not all was written: {failures[:1]}")
    json.dump(copy.damages, sys.stdout)


if __name__ == "__main__":
    main()
