"""Reads every topic of an installation, as a consumer of another language and maker would, and compares with the API.

Usage: read_topics.py BROKERS REGISTRY_URL PREFIX TRUTH_FILE [--copied-from PREFIX] [--report FILE]

Prints a line for each check, `ok` or `FAIL`, and ends with 1 when one has failed. The report has all that was found, and what each
topic holds. A copy has the schemas of the topics that it was made from, registered under their names.
"""

import argparse
import json
import sys

from check_changes import check_chain, check_envelopes, check_once, check_sequence, check_versions
from check_records import check_headers, check_partitions, check_readable, check_subjects
from check_scenario import check_scenario
from check_tables import check_dead_letters, check_source_offsets, check_tables, check_tombstones, check_truth
from check_transitions import check_deal_status, check_rating_changes
from committed_log import CommittedLog
from registry import Registry
from topic_records import read_topics

PROBLEMS_SHOWN = 5


def main():
    arguments = _arguments()
    with open(arguments.truth, encoding="utf-8") as file:
        truth = json.load(file)
    registry = Registry(arguments.registry)
    log = CommittedLog(*read_topics(arguments.brokers, arguments.prefix), registry)

    checks = {
        "scenario": lambda: check_scenario(log),
        "readable": lambda: check_readable(log),
        "subjects": lambda: check_subjects(log, registry, arguments.copied_from or arguments.prefix),
        "partitions": lambda: check_partitions(log),
        "headers": lambda: check_headers(log),
        "envelopes": lambda: check_envelopes(log),
        "sequence": lambda: check_sequence(log),
        "once": lambda: check_once(log),
        "chain": lambda: check_chain(log),
        "versions": lambda: check_versions(log, truth),
        "tables": lambda: check_tables(log),
        "truth": lambda: check_truth(log, truth),
        "tombstones": lambda: check_tombstones(log),
        "deal status": lambda: check_deal_status(log),
        "rating changes": lambda: check_rating_changes(log),
        "source offsets": lambda: check_source_offsets(log),
        "dead letters": lambda: check_dead_letters(log, truth),
    }
    found = {}
    for name, check in checks.items():
        summary, problems = check()
        found[name] = problems
        print(f"{'FAIL' if problems else 'ok'}\t{name}\t{summary}", flush=True)
        for problem in problems[:PROBLEMS_SHOWN]:
            print(f"\t{problem}")
        if len(problems) > PROBLEMS_SHOWN:
            print(f"\tand {len(problems) - PROBLEMS_SHOWN} more")
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as file:
            json.dump({"problems": found, "topics": _contents(log)}, file)
    return 1 if any(found.values()) else 0


def _contents(log):
    """Topic -> its records in a form in which other readers can tell theirs."""
    return {
        topic: [{"key": record.key, "value": record.value} for record in log.topic(topic)] for topic in log.partitions
    }


def _arguments():
    parser = argparse.ArgumentParser()
    for name in ("brokers", "registry", "prefix", "truth"):
        parser.add_argument(name)
    parser.add_argument("--copied-from")
    parser.add_argument("--report")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
