"""Compares compiled liveness with plain Python on every variant of a spec with liveness claims.

Both must find the same verdicts and the same counterexamples, also with transitions in files. A
variant with more than `MOST` states is left out. This benchmark takes a quarter of an hour of one
core, and is not part of `make bench`: `python -m benchmarks.explore.liveness_agreement`.
"""

from __future__ import annotations

import sys

from benchmarks.pairs import write_results
from checkers.explicit.compiled.engine import Search
from checkers.explicit.exploration import Budget, Task
from checkers.explicit.liveness import decide
from model.language.spec import Spec
from model.specs import all_variants

MOST = 200_000  # states
ENOUGH = 10**9  # bytes


def least_memory(spec: Spec) -> int:
    """Returns the least memory for the graph of the spec, in bytes, with transitions in files."""
    task = Task(spec=spec, claims=(), lively=spec.liveness_properties)
    search = Search(task, graph_memory=ENOUGH)
    with search.searched():
        assert search.graph is not None
        return search.graph.bytes_on_disk()


def main() -> int:
    """Compares the engines on every variant of a spec with liveness; returns 1 if they differ."""
    rows: dict[str, str] = {}
    for variant in all_variants():
        spec = variant.make(variant.at)
        if not spec.liveness_properties:
            continue
        slow = decide(spec, engine="python", budget=Budget(states=MOST))
        if any(found.verdict == "undecided" for found in slow.values()):
            rows[f"{variant.spec} {variant.name}"] = "left out"
        else:
            fast = decide(spec, engine="compiled")
            in_files = decide(spec, engine="compiled", memory=least_memory(spec))
            same = fast == in_files == slow
            verdicts = ", ".join(f"{name} {found.verdict}" for name, found in slow.items())
            rows[f"{variant.spec} {variant.name}"] = f"{'same' if same else 'differ'}: {verdicts}"
        sys.stdout.write(f"{list(rows.items())[-1]}\n")
        sys.stdout.flush()
        write_results("liveness-agreement", [], {"most_states": MOST, "rows": rows})
    return int(any(row.startswith("differ") for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
