"""Compares TLC with the explorer on every variant of the specs, and writes the results
(`make tlc`).

A variant is a version or a bug of a spec, and has one row in the file of results.
`python -m tools.tlc [--seconds N] [--out FILE] [PATTERN ...]` compares only the variants that match
a pattern, such as `election` or `election/kip-*`. The rows of all other variants then stay in the
file. The exit code is 1 if TLC and the explorer differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path

from model.specs import all_variants
from model.variants import Variant
from tools.tlc.comparison import Row, compared, summary
from tools.tlc.running import ARTIFACT, jar

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "tlc.json"


def main(arguments: list[str]) -> int:
    """Compares the selected variants. Returns 1 if TLC and the explorer differ in some row, and 0
    otherwise.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.tlc", description=__doc__)
    parser.add_argument(
        "patterns", nargs="*", default=["*"], help="SPEC or SPEC/VARIANT, with globs"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one run of TLC")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file to write")
    options = parser.parse_args(arguments)
    matching = [v for v in all_variants() if _matches(v, options.patterns)]
    if not matching:
        parser.error(f"no variant matches {' '.join(options.patterns)}; try SPEC or 'SPEC/*'")
    tlc, rows = jar(), {}
    if options.patterns != ["*"] and options.out.exists():
        rows = kept(options.out)
    for variant in matching:
        name = f"{variant.spec}/{variant.name}"
        row = rows[name] = compared(variant, seconds=options.seconds, jar=tlc)
        verdict = "differs: " + "; ".join(row.differences) if row.differences else "agrees"
        left = f"; not finished: {', '.join(row.unfinished)}" if row.unfinished else ""
        sys.stdout.write(f"{name}: {verdict}{left}; {row.distinct:,} states, {row.seconds} s\n")
        sys.stdout.flush()
        options.out.write_text(written(in_order(rows)), encoding="utf-8")
    return int(any(row.differences for row in rows.values()))


def _matches(variant: Variant, patterns: Sequence[str]) -> bool:
    names = variant.spec, f"{variant.spec}/{variant.name}"
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def kept(file: Path) -> dict[str, Row]:
    """Returns the earlier results by SPEC/VARIANT."""
    rows = [Row(**row) for row in json.loads(file.read_text(encoding="utf-8"))["rows"]]
    return {f"{row.spec}/{row.variant}": row for row in rows}


def in_order(rows: Mapping[str, Row]) -> list[Row]:
    """Returns the results in the order of the specs, without variants that no longer exist."""
    names = (f"{v.spec}/{v.name}" for v in all_variants())
    return [rows[name] for name in names if name in rows]


def written(rows: list[Row]) -> str:
    """Returns the text of the file of results: the build of TLC, a summary, and a line for each
    variant.
    """
    head = {
        "tlc": ARTIFACT,
        "of": len(all_variants()),
        "summary": summary(rows),
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    body = ",\n".join(f"  {json.dumps(asdict(row))}" for row in rows)
    return "\n".join(["{", *lines, ' "rows": [', body, " ]", "}"]) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
