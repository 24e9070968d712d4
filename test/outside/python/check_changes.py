"""The change events of a feed: their shape, their numbers, and the chain of each record."""

from collections import Counter, defaultdict

from images import differences, expected_image, parsed
from specification import DEAL_STATUS, FEEDS, RATING_CHANGES

_ORIGINS = {"poll", "snapshot", "backfill", "reconcile"}


def check_envelopes(log):
    problems, ops = [], Counter()
    for feed in FEEDS:
        for event in log.changes[feed]:
            problems += [f"{event} {event.value['event_id']}: {problem}" for problem in _envelope(feed, event)]
            ops[event.value["op"]] += 1
    return ", ".join(f"{count} {op}" for op, count in sorted(ops.items())), problems


def _envelope(feed, event):
    value = event.value
    before, after, op, source = value["before"], value["after"], value["op"], value["source"]
    shapes = {"c": (True, False), "r": (True, False), "u": (False, False), "d": (False, True)}
    if shapes.get(op) != (before is None, after is None):
        yield f"op {op} with before {before} and after {after}"
        return
    record = after or before
    if event.key != record["id"] or (before or record)["id"] != record["id"]:
        yield f"key {event.key}, record {record['id']}"
    changed = differences(feed, parsed(before), parsed(after)) if op == "u" else []
    if sorted(value["changed_fields"]) != changed:
        yield f"changed_fields {value['changed_fields']}, but what differs is {changed}"
    if op == "u" and not changed:
        yield "an update in which nothing differs"
    expected = {
        "connector": "highwater",
        "feed": feed,
        "endpoint": FEEDS[feed].path,
        "updated": record["updated"],
        "ts_ms": record["updated"] * 1000,
    }
    for name, wanted in expected.items():
        if source[name] != wanted:
            yield f"source.{name} is {source[name]}, expected {wanted}"
    if source["snapshot"] not in ("true", "false") or source["origin"] not in _ORIGINS:
        yield f"source.snapshot {source['snapshot']}, origin {source['origin']}"
    if value["event_id"] != f"{feed}:{source['incarnation']}:{source['seq']}":
        yield f"seq {source['seq']} of {source['incarnation']}"
    if event.raw.timestamp != value["ts_ms"]:
        yield f"ts_ms {value['ts_ms']}, the record is of {event.raw.timestamp}"


def check_sequence(log):
    """From 1 without a gap over the partitions together, and in order within each."""
    problems, count = [], 0
    for feed in FEEDS:
        numbers, latest = defaultdict(list), {}
        for event in log.topic(feed):
            if event.value is None:
                problems.append(f"{event} is a tombstone")
                continue
            source = event.value["source"]
            place = (source["incarnation"], event.raw.partition)
            if source["seq"] <= latest.get(place, 0):
                problems.append(f"{event}: seq {source['seq']} comes after {latest[place]}")
            latest[place] = source["seq"]
            numbers[source["incarnation"]].append(source["seq"])
        for incarnation, seqs in numbers.items():
            count += len(seqs)
            missing = sorted(set(range(1, max(seqs) + 1)) - set(seqs))
            problems += [f"{feed}:{incarnation}:{seq} is missing" for seq in missing]
    return f"{count} changes numbered without a gap", problems


def check_once(log):
    ids = Counter(
        record.value["event_id"]
        for topic in (*FEEDS, DEAL_STATUS, RATING_CHANGES)
        for record in log.topic(topic)
        if record.value is not None
    )
    return f"{len(ids)} event ids, each once", [f"{name} {n} times" for name, n in ids.items() if n > 1]


def check_chain(log):
    problems, links = [], 0
    for feed in FEEDS:
        live = {}
        for event in log.changes[feed]:
            op, before, after = (event.value[name] for name in ("op", "before", "after"))
            if op == "c" and event.key in live:
                problems.append(f"{event} {event.key}: created, but it was there")
            if op in ("u", "d"):
                links += 1
                if before != live.get(event.key):
                    problems.append(f"{event} {event.key}: before is not what was last published")
            live[event.key] = after
            if after is None:
                del live[event.key]
    return f"{links} changes begin where the one before them ended", problems


def check_versions(log, truth):
    """Nothing is published that the API has never shown."""
    problems, count = [], 0
    for feed, api in truth.items():
        shown = defaultdict(list)
        for record in api["versions"]:
            shown[record["id"]].append(expected_image(feed, record))
        for event in log.changes[feed]:
            if event.value["after"] is None:
                continue
            count += 1
            if parsed(event.value["after"]) not in shown[event.key]:
                problems.append(f"{event} {event.key}: the API has never shown this: {event.value['after']}")
    return f"{count} images that the API has shown", problems
