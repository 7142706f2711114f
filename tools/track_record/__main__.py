"""Writes the track record: checks every buggy variant of a spec, and the variant without the bug.

The record has the verdicts on these two variants, and the length of the shortest counterexample for
the bug. `python -m tools.track_record [SPEC ...]` writes `checkers/track_record.json`. If the
command line names specs, only the variants of these specs are checked. The recorded verdicts of all
other variants stay.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser

from checkers.track_record import Caught, keep, kept
from model.specs import all_variants
from tools.named_specs import add_specs
from tools.track_record.catching import catch


def main(arguments: list[str]) -> None:
    """Checks the variants of the named specs, and writes the record. All other variants retain
    their recorded verdicts.
    """
    parser = ArgumentParser(prog="python -m tools.track_record", description=__doc__)
    add_specs(parser)
    specs = parser.parse_args(arguments).specs
    known = kept()
    record: dict[tuple[str, str], Caught] = {}
    for variant in all_variants():
        row = variant.spec, variant.name
        if variant.breaks is None:
            continue
        if specs and variant.spec not in specs and row in known:
            record[row] = known[row]
            continue
        started = time.monotonic()
        record[row] = caught = catch(variant)
        sys.stdout.write(
            f"{variant.spec} {variant.name}: {caught.breaks} {caught.verdict} {caught};"
            f" {time.monotonic() - started:.1f} s\n"
        )
        sys.stdout.flush()
    keep(record.values())


if __name__ == "__main__":
    main(sys.argv[1:])
