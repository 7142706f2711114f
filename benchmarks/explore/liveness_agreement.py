"""Compares compiled liveness with plain Python on every variant of a spec with liveness claims.

Verdicts and counterexamples must be the same, with transitions in memory and in files. A variant
with more than `MOST` states is left out. This benchmark takes ten minutes of one core.

This benchmark is not part of `make bench`. Start it with
`python -m benchmarks.explore.liveness_agreement [--seconds N] [--again]`. A second run compares
only variants without a result. With `--again`, it compares every variant.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from benchmarks.pairs import RESULTS, write_results
from checkers.explicit.compiled.engine import Search
from checkers.explicit.exploration import Budget, Task
from checkers.explicit.liveness import decide
from model.language.expressions import SpecError
from model.language.spec import Spec
from model.specs import all_variants

MOST = 200_000  # states
ENOUGH = 10**9  # bytes
NAME = "liveness-agreement"


def compared(spec: Spec) -> str:
    """Returns `same` or `differ`, followed by the verdicts of plain Python.

    Returns `left out` if the spec has too many states. Returns `ill-defined` if a reachable term
    has no value, for example in a bug whose counters leave their range.
    """
    try:
        fast = decide(spec, engine="compiled", budget=Budget(states=MOST))
    except SpecError:
        return "ill-defined"
    if any(found.verdict == "undecided" for found in fast.values()):
        return "left out"
    slow = decide(spec, engine="python", budget=Budget(states=MOST))
    same = fast == slow == decide(spec, engine="compiled", memory=least_memory(spec))
    verdicts = ", ".join(f"{name} {found.verdict}" for name, found in slow.items())
    return f"{'same' if same else 'differ'}: {verdicts}"


def least_memory(spec: Spec) -> int:
    """Returns the smallest memory limit, in bytes, at which a search for liveness succeeds if its
    transitions are in files.
    """
    task = Task(spec=spec, claims=(), lively=spec.liveness_properties)
    search = Search(task, graph_memory=ENOUGH)
    with search.searched():
        assert search.graph is not None
        return search.graph.bytes_on_disk()


def summary(rows: Sequence[str]) -> dict[str, int]:
    results = ("same", "differ", "left out", "ill-defined")
    return {result: sum(row.startswith(result) for row in rows) for result in results}


def main(arguments: Sequence[str]) -> int:
    """Compares the variants. Returns 1 if a result differs, and 0 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="no comparison begins later")
    parser.add_argument("--again", action="store_true", help="compare every variant again")
    options = parser.parse_args(arguments)
    file, until = RESULTS / f"{NAME}.json", time.monotonic() + options.seconds
    before = {} if options.again or not file.exists() else json.loads(file.read_text())["rows"]
    made = {f"{v.spec} {v.name}": v.make(v.at) for v in all_variants()}
    lively = {name: spec for name, spec in made.items() if spec.liveness_properties}
    rows = {name: before[name] for name in lively if name in before}
    for name, spec in lively.items():
        if name in rows or time.monotonic() > until:
            continue
        rows[name] = compared(spec)
        sys.stdout.write(f"{name}: {rows[name]}\n")
        sys.stdout.flush()
        counts = {**summary(list(rows.values())), "not compared": len(lively) - len(rows)}
        write_results(NAME, [], {"most_states": MOST, "summary": counts, "rows": rows})
    return int(any(row.startswith("differ") for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
