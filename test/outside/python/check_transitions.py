"""Transitions: exactly those that follow from the changes, computed anew."""

from collections import defaultdict

from images import same_text
from specification import DEAL_STATUS, RATING_CHANGES


_COPIED = ("id", "rating_id", "firm_id", "firm", "analyst_id", "action", "rating", "pt", "date", "updated")


def check_deal_status(log):
    return _check(log, DEAL_STATUS, _deal_status_changes(log.changes["ipos"]))


def check_rating_changes(log):
    return _check(log, RATING_CHANGES, _rating_changes(log.changes["insights"]))


def _check(log, topic, expected):
    problems = []
    for record in log.topic(topic):
        key, value = expected.pop(record.value["event_id"], (None, None))
        if value is None:
            problems.append(f"{record}: nothing calls for {record.value['event_id']}, or not again")
        elif record.value != value or record.key != key:
            problems.append(f"{record}: key {record.key}, {record.value}, expected key {key}, {value}")
        elif record.raw.timestamp != value["ts_ms"]:
            problems.append(f"{record} is of {record.raw.timestamp}, expected {value['ts_ms']}")
    problems += [f"{topic} lacks {event_id}" for event_id in expected]
    return f"{len(log.topic(topic))} follow from the changes", problems


def _caused(event, suffix):
    value = event.value
    return {
        "event_id": value["event_id"] + suffix,
        "caused_by": value["event_id"],
        "origin": value["source"]["origin"],
        "ts_ms": value["ts_ms"],
    }


def _deal_status_changes(changes):
    expected = {}
    for event in changes:
        before, after = event.value["before"], event.value["after"]
        previous = before["deal_status"] if before else None
        if event.value["op"] not in ("c", "u") or after["deal_status"] == previous:
            continue
        value = {
            **_caused(event, ":deal_status"),
            **{name: after[name] for name in ("id", "name", "ticker", "exchange", "updated")},
            "previous_status": previous,
            "status": after["deal_status"],
        }
        expected[value["event_id"]] = (event.key, value)
    return expected


def _rating_changes(changes):
    expected, images, groups = {}, {}, defaultdict(set)

    def newest(group):
        return max((images[name] for name in groups[group]), key=_rank, default=None)

    for event in changes:
        after = event.value["after"]
        group = _group(after)
        former = newest(group) if group else None
        groups[_group(images.pop(event.key, None))].discard(event.key)
        if after is not None:
            images[event.key] = after
            groups[group].add(event.key)
        if event.value["op"] not in ("c", "u") or group is None or newest(group) is not after:
            continue
        if former and all(same_text(former[name], after[name]) for name in ("rating", "pt")):
            continue
        previous = former or {}
        value = {
            **_caused(event, ":rating"),
            **{name: after[name] for name in _COPIED},
            **{f"previous_{name}": previous.get(name) for name in ("rating_id", "rating", "pt", "date")},
            "symbol": after["security"]["symbol"],
            "security_name": after["security"]["name"],
            "exchange": after["security"]["exchange"],
            "correction": after["rating_id"] is not None and after["rating_id"] == previous.get("rating_id"),
        }
        expected[value["event_id"]] = (group, value)
    return expected


def _group(image):
    symbol = ((image or {}).get("security") or {}).get("symbol")
    return f"{symbol}|{image['firm_id']}" if symbol and image["firm_id"] else None


def _rank(image):
    """A missing date is older than any other; ids break ties."""
    return (image["date"] is not None, image["date"] or "", image["updated"], image["id"])
