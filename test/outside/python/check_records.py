"""What holds for every record of a topic, whatever it says."""

from collections import defaultdict
from datetime import datetime, timezone

from specification import DEAL_STATUS, FEEDS, FENCE_KEY, RATING_CHANGES, topics

_OPS = {"c": "created", "u": "updated", "d": "deleted", "r": "read"}


def check_readable(log):
    problems = list(log.unreadable)
    for topic, (partitions, type_name) in topics().items():
        if log.partitions.get(topic) != partitions:
            problems.append(f"{topic} has {log.partitions.get(topic)} partitions, expected {partitions}")
        for record in log.topic(topic):
            if record.type not in (type_name, None):
                problems.append(f"{record} is a {record.type}, expected {type_name}")
    return f"{len(log.records)} records of {len(log.partitions)} topics decoded", problems


def check_subjects(log, registry, prefix):
    """TopicNameStrategy, by which Flink and Connect find the schema of a topic."""
    ids = defaultdict(set)
    for record in log.records:
        if record.schema_id is not None:
            ids[record.raw.topic].add(record.schema_id)
    problems = []
    for topic, schema_ids in ids.items():
        subject = f"{prefix}{topic}-value"
        for schema_id in schema_ids:
            if subject not in registry.subjects(schema_id):
                problems.append(f"schema {schema_id} of {topic} is not registered under {subject}")
        if registry.compatibility(subject) != "FULL_TRANSITIVE":
            problems.append(f"{subject} is {registry.compatibility(subject)}, expected FULL_TRANSITIVE")
    return f"{len(ids)} subjects named by topic, FULL_TRANSITIVE", problems


def check_partitions(log):
    problems = []
    for record in log.records:
        count = log.partitions[record.raw.topic]
        partition = (_murmur2(record.raw.key) & 0x7FFFFFFF) % count
        if record.key != FENCE_KEY and record.raw.partition != partition:
            problems.append(f"{record} with key {record.key} belongs into partition {partition}")
    return "each key where the default partitioner would put it", problems


def check_headers(log):
    problems, count = [], 0
    for feed in FEEDS:
        by_id = {event.value["event_id"]: event for event in log.changes[feed]}
        for event in log.changes[feed]:
            ce_type = f"marketdata.{feed}.{_OPS.get(event.value['op'])}"
            expected = _headers(feed, event, event.value["event_id"], ce_type)
            problems += _compared(event, event.key, event.headers, expected)
            count += 1
        for record in log.topic(f"{feed}.current"):
            cause = by_id.get(record.headers.get("event_id"))
            if record.key == FENCE_KEY:
                continue
            if cause is None:
                problems.append(f"{record} names event {record.headers.get('event_id')}, which is not there")
                continue
            source = cause.value["source"]
            expected = {
                "event_id": cause.value["event_id"],
                "seq": str(source["seq"]),
                "incarnation": source["incarnation"],
            }
            problems += _compared(record, cause.key, record.headers, expected)
            if record.raw.timestamp != cause.raw.timestamp:
                problems.append(f"{record} is of {record.raw.timestamp}, its event of {cause.raw.timestamp}")
            count += 1
    for topic, feed, ce_type in (
        (DEAL_STATUS, "ipos", "marketdata.ipos.deal-status-changed"),
        (RATING_CHANGES, "insights", "marketdata.insights.rating-changed"),
    ):
        by_id = {event.value["event_id"]: event for event in log.changes[feed]}
        for record in log.topic(topic):
            cause = by_id.get(record.value["caused_by"])
            if cause is None:
                problems.append(f"{record} is caused by {record.value['caused_by']}, which is not there")
                continue
            expected = _headers(feed, cause, record.value["event_id"], ce_type)
            problems += _compared(record, record.key, record.headers, expected)
            count += 1
    return f"headers of {count} records say what the events say", problems


def _headers(feed, event, event_id, ce_type):
    value = event.value
    at = datetime.fromtimestamp(value["ts_ms"] // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    headers = {
        "ce_specversion": "1.0",
        "ce_id": event_id,
        "ce_source": f"/highwater/{feed}",
        "ce_type": ce_type,
        "ce_subject": event.key,
        "ce_time": f"{at}.{value['ts_ms'] % 1000:03d}Z",
        "content-type": "application/avro",
        "op": value["op"],
    }
    symbol = value["after"] or value["before"] if FEEDS[feed].symbol else None
    for name in FEEDS[feed].symbol or ():
        symbol = (symbol or {}).get(name)
    if symbol:
        headers["symbol"] = symbol
    if value["changed_fields"]:
        headers["changed-fields"] = ",".join(value["changed_fields"])
    return headers


def _compared(record, key, found, expected):
    return [
        f"{record} {key}: header {name} is {found.get(name)!r}, expected {expected.get(name)!r}"
        for name in sorted(found.keys() | expected.keys())
        if found.get(name) != expected.get(name)
    ]


def _murmur2(data):
    """As Kafka's default partitioner has it, unsigned."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15
