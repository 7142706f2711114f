"""Counts how often each action of an abstract spec is taken, and writes docs/abstract-steps.md.

The actions are counted in three sources:

    explored    steps of a detailed spec, mapped to steps of the abstract spec
    simulated   events of the reference broker in simulations
    real        log lines of Apache Kafka

`python -m tools.abstract_steps` writes the page and `benchmarks/results/abstract_steps.json`. If
the command line names specs, such as `quorum-abstract`, only the actions of these specs are
counted, and the recorded counts of all other specs stay. The exit code is 1 if some action is never
taken and the page gives no reason for this. A run with all specs takes five minutes.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from model.specs import find
from tools.abstract_steps.explored import EXPLORATIONS, explored
from tools.abstract_steps.page import KEPT, PAGE, Record, kept, never_taken, page
from tools.abstract_steps.traced import TRACED, real, simulated

SPECS: Final = tuple(dict.fromkeys((*TRACED, *EXPLORATIONS)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -m tools.abstract_steps", description=__doc__)
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="default: all")
    specs = parser.parse_args(arguments).specs or SPECS
    if unknown := [*{*specs} - {*SPECS}]:
        parser.error(f"{unknown[0]} is none of: {', '.join(SPECS)}")
    before = kept() if KEPT.exists() else {}
    counted: dict[str, Mapping[str, Counter[str]]] = {"explored": dict(explored(specs))}
    if {*specs} & {*TRACED}:
        counted |= {"simulated": simulated(), "real": real()}
    record: Record = {}
    for spec in SPECS:
        if spec not in specs:
            record[spec] = before.get(spec, {})
            continue
        taken = {source: counts[spec] for source, counts in counted.items() if spec in counts}
        record[spec] = {
            action.name: {source: counts[action.name] for source, counts in taken.items()}
            for action in find(*spec.split(" ")).make().actions
        }
    KEPT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")
    missing = never_taken(record)
    for spec, action in missing:
        sys.stdout.write(f"{spec} {action}: nothing takes this action\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
