"""Whether what was read has all that the other checks are about: of nothing they find nothing wrong."""

from collections import Counter

from specification import DEAL_STATUS, FEEDS, FENCE_KEY, RATING_CHANGES

OWNERS = 3
# The feed that records are deleted of.
DELETES = "ipos"


def check_scenario(log):
    problems, owners = [], Counter()
    for feed in FEEDS:
        ops = {event.value["op"] for event in log.changes[feed]}
        wanted = {"c", "u", "r", "d"} if feed == DELETES else {"c", "u", "r"}
        problems += [f"{feed} has no event with op {op}" for op in sorted(wanted - ops)]
        if not any(event.value["after"] and event.value["after"]["extra"] for event in log.changes[feed]):
            problems.append(f"{feed} has no record with members in extra")
        if not any(record.value for record in log.topic(f"{feed}.dead-letters")):
            problems.append(f"{feed} has no dead letter")
        fences = [r.headers.get("owner_epoch") for r in log.topic(f"{feed}.source-offset") if r.key == FENCE_KEY]
        owners[feed] = len(set(fences))
        if owners[feed] < OWNERS:
            problems.append(f"{feed} has had {owners[feed]} owners, expected {OWNERS}")
    problems += [f"{topic} is empty" for topic in (DEAL_STATUS, RATING_CHANGES) if not log.topic(topic)]
    return f"{sum(owners.values())} owners, and every kind of event", problems
