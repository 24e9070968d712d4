"""The compacted topics: the table of a feed against its events and the API, its position, and its dead letters."""

import hashlib
import json

from images import differences, expected_image, is_usable, parsed
from specification import FEEDS, FENCE_KEY, topics


def check_tables(log):
    """The table is what the events make of it."""
    problems, count, deleted = [], 0, 0
    for feed in FEEDS:
        folded = {}
        for event in log.changes[feed]:
            folded[event.key] = event
        table = log.table(f"{feed}.current")
        for key, event in folded.items():
            row = table.pop(key, None)
            count += 1
            deleted += event.value["after"] is None
            if (row and row.value) != event.value["after"]:
                event_id = event.value["event_id"]
                problems.append(f"{feed}.current {key}: the table has another image than {event_id}")
        problems += [f"{feed}.current {key}: no event tells of it" for key in table]
    return f"{count - deleted} rows, each the latest after; {deleted} deleted", problems


def check_truth(log, truth):
    """The table is what the API shows."""
    problems, count, extra = [], 0, 0
    for feed, api in truth.items():
        rows = log.table(f"{feed}.current")
        for key in rows.keys() | api["records"].keys():
            if key not in rows or key not in api["records"]:
                where = "not in the table" if key not in rows else "no record of the API"
                problems.append(f"{feed} {key} is {where}")
                continue
            count += 1
            image, wanted = parsed(rows[key].value), expected_image(feed, api["records"][key])
            extra += image["extra"] != {}
            for path in differences(feed, image, wanted):
                problems.append(f"{feed}.current {key}: {path} is not as the API shows it")
            # A touch publishes nothing.
            if image["updated"] > wanted["updated"]:
                problems.append(f"{feed}.current {key}: updated {image['updated']} of {wanted['updated']}")
    return f"{count} records as the API shows them, {extra} with members in extra", problems


def check_tombstones(log):
    """Today every tombstone is a fence, or belongs to a delete."""
    problems, fences, deletes = [], 0, 0
    fenced = {topic for topic in topics() if topic.endswith((".current", ".source-offset", ".dead-letters"))}
    for record in log.records:
        if record.value is not None:
            continue
        if record.raw.topic not in fenced:
            problems.append(f"{record} {record.key}: a tombstone in a topic that keeps everything")
        elif record.key == FENCE_KEY:
            fences += 1
            if set(record.headers) != {"owner_epoch"}:
                problems.append(f"{record}: a fence with headers {record.headers}")
        elif record.raw.topic.endswith(".current"):
            deletes += 1
            feed = record.raw.topic.removesuffix(".current")
            if not any(e.key == record.key and e.value["op"] == "d" for e in log.changes[feed]):
                problems.append(f"{record} {record.key}: a tombstone, but no event deletes it")
    for topic in fenced:
        partitions = {r.raw.partition for r in log.topic(topic) if r.key == FENCE_KEY}
        if len(partitions) != log.partitions.get(topic):
            problems.append(f"{topic} has fences in {len(partitions)} partitions")
    return f"{fences} fences, {deletes} deletes", problems


def check_source_offsets(log):
    problems, commits = [], 0
    for feed in FEEDS:
        topic = f"{feed}.source-offset"
        latest = {}
        for record in log.topic(topic):
            if record.value is None:
                continue
            value = record.value
            expected = {name: str(value[name]) for name in ("incarnation", "owner_epoch", "commit", "seq")}
            if record.key != feed or value["feed"] != feed or record.headers != expected:
                problems.append(f"{record}: key {record.key}, feed {value['feed']}, headers {record.headers}")
            if value["commit"] <= latest.get(value["incarnation"], 0):
                problems.append(f"{record}: commit {value['commit']} comes late")
            latest[value["incarnation"]] = value["commit"]
        row = log.table(topic).get(feed)
        if row is None:
            problems.append(f"{topic} has no position")
            continue
        commits += row.value["commit"]
        counts = [0] * log.partitions[f"{feed}.current"]
        for image in log.table(f"{feed}.current").values():
            counts[image.raw.partition] += 1
        sources = [event.value["source"] for event in log.changes[feed]]
        seqs = [source["seq"] for source in sources if source["incarnation"] == row.value["incarnation"]]
        expected = {
            "seq": max(seqs, default=0),
            "record_count": sum(counts),
            "partition_counts": counts,
            "snapshot": "complete",
            "parked": None,
        }
        for name, wanted in expected.items():
            if row.value[name] != wanted:
                problems.append(f"{topic}: {name} is {row.value[name]}, expected {wanted}")
    return f"{commits} transactions, counts of rows and changes right", problems


def check_dead_letters(log, truth):
    problems, count = [], 0
    for feed, api in truth.items():
        topic = f"{feed}.dead-letters"
        kept = []
        for record in log.topic(topic):
            if record.value is None:
                continue
            count += 1
            value, raw = record.value, record.value["raw"].encode("utf-8")
            sha256 = hashlib.sha256(raw).hexdigest()
            if not record.key == value["sha256"] == sha256:
                problems.append(f"{record} {record.key}: the hash of its text is {sha256}")
            if value["bytes"] != len(raw) or value["feed"] != feed or not value["reason"]:
                told = f"bytes {value['bytes']}, feed {value['feed']}, reason {value['reason']}"
                problems.append(f"{record} {record.key}: {told}")
            content = json.loads(value["raw"])
            if is_usable(content):
                problems.append(f"{record} {record.key}: this is a record")
            if content in kept:
                problems.append(f"{record} {record.key}: it was kept before")
            kept.append(content)
        for row in api["unusable"]:
            if row not in kept:
                problems.append(f"{topic} lacks {json.dumps(row)[:200]}")
    return f"{count} dead letters with the hash of their text, one for each row that is no record", problems
