"""The image that must be published of a vendor's record, and when two images are the same to a reader."""

import json
import math
import re
from decimal import Decimal

from specification import FEEDS, avro_name

_DRIFTED = object()
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMERIC = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)


def is_usable(record):
    """Whether it can be a record at all, with a key and a time stamp; else it is a dead letter."""
    return record.get("id") not in (None, "") and isinstance(record.get("updated"), (int, float))


def expected_image(feed, record):
    """The image of a vendor's record, with the JSON texts in `extra` parsed."""
    rules = FEEDS[feed]
    members = {name: value for name, value in record.items() if name not in ("id", "updated")}
    extra = {}
    image = _object(rules, rules.members, members, "", extra)
    for name, companion in rules.zero_is_unknown_without.items():
        if image[name] == 0 and image[companion] is None:
            image[name] = None
    updated = record["updated"]
    seconds = math.floor(updated / 1000 if updated > 1e11 else updated)
    return {**image, "id": _well_formed(record["id"]), "updated": seconds, "extra": extra}


def parsed(image):
    """An image as it was read, with the JSON texts in `extra` parsed."""
    return {**image, "extra": {path: json.loads(text) for path, text in image["extra"].items()}}


def differences(feed, before, after):
    """Dotted names of the fields that differ to a reader; both images with `extra` parsed."""
    paths = list(_differing(FEEDS[feed].members, before, after, ""))
    for path in before["extra"].keys() | after["extra"].keys():
        if before["extra"].get(path) != after["extra"].get(path):
            paths.append(f"extra.{path}")
    return sorted(paths)


def same_text(a, b):
    """Whether two decimal texts, or texts, are the same to a reader."""
    return _comparable("decimal", a) == _comparable("decimal", b)


def _object(rules, members, given, prefix, extra):
    image = {}
    for name, kind in members.items():
        image[avro_name(name)] = _member(rules, kind, given.get(name), prefix + name, extra)
    for name, value in given.items():
        if name not in members:
            extra[_well_formed(prefix + name)] = value
    return image


def _member(rules, kind, raw, path, extra):
    if raw is None:
        return None
    if isinstance(kind, dict):
        if isinstance(raw, dict):
            return _object(rules, kind, raw, f"{path}.", extra)
        value = _DRIFTED
    else:
        value = _brought(kind, raw, rules.empty_is_unknown)
    if value is _DRIFTED:
        extra[path] = raw
        return None
    return None if _is_number(value) and value == 0 and path in rules.zero_is_unknown else value


def _brought(kind, raw, empty_is_unknown):
    """The value in the field's type, where nothing is lost on the way."""
    if raw == "" and (empty_is_unknown or kind not in ("text", "decimal")):
        return None
    if kind in ("text", "decimal"):
        if isinstance(raw, str):
            return _well_formed(raw)
        return _number_as_text(raw) if _is_number(raw) else _DRIFTED
    if kind == "integer":
        if isinstance(raw, str) and re.fullmatch(r"-?\d+(\.0+)?", raw, re.ASCII):
            return int(raw.split(".")[0])
        return int(raw) if _is_number(raw) and float(raw).is_integer() else _DRIFTED
    if kind == "number":
        if isinstance(raw, str) and _NUMERIC.fullmatch(raw):
            return float(raw) if Decimal(repr(float(raw))) == Decimal(raw) else _DRIFTED
        return raw if _is_number(raw) else _DRIFTED
    if kind == "boolean":
        texts = {"true": True, "false": False}
        return raw if isinstance(raw, bool) else texts.get(raw, _DRIFTED) if isinstance(raw, str) else _DRIFTED
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        return _DRIFTED
    return [_well_formed(item) for item in raw]


def _differing(members, before, after, prefix):
    for vendor_name, kind in members.items():
        name = avro_name(vendor_name)
        old, now = (before or {}).get(name), (after or {}).get(name)
        if isinstance(kind, dict):
            yield from _differing(kind, old, now, f"{prefix}{name}.")
        elif _comparable(kind, old) != _comparable(kind, now):
            yield prefix + name


def _comparable(kind, value):
    """Unknown is one thing, however it is written; a decimal is its number."""
    if value in (None, "", []) or (_is_number(value) and value == 0):
        return None
    if kind == "decimal" and _NUMERIC.fullmatch(value):
        return Decimal(value)
    return value


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number_as_text(number):
    return str(int(number)) if float(number).is_integer() else repr(number)


def _well_formed(text):
    return _LONE_SURROGATE.sub("\ufffd", text)
