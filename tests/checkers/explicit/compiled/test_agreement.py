"""For every variant of every spec, the compiled engine and plain Python return equal results."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.explicit.exploration import Budget, Exploration, Progress
from checkers.explicit.search import explore
from model.language.interpreter import Interpreter
from model.replication.actions import TruncateToHighWatermark
from model.specs import all_variants
from model.variants import Variant

ENOUGH = Budget(states=8_000)


def label(variant: Variant) -> str:
    return f"{variant.spec}-{variant.name}"


def results(found: Exploration) -> dict[str, object]:
    """Returns the parts of an exploration's result that do not depend on the order of states."""
    return {
        "counts": (found.distinct, found.generated, found.depth, found.why_stopped),
        "taken": found.taken,
        "deadlocks": (found.deadlocks, len(found.deadlock)),
        "disabled": found.disabled,
        "verdicts": {n: (d.verdict, d.steps, d.reason) for n, d in found.discoveries.items()},
        "witnesses": {n: (w.states, len(w.trace)) for n, w in found.witnesses.items()},
    }


class Levels(dict[int, tuple[int, int]]):
    def __call__(self, at: Progress) -> None:
        self.setdefault(at.depth, (at.distinct, at.generated))

    def upto(self, depth: int) -> dict[int, tuple[int, int]]:
        return {at: counts for at, counts in self.items() if at <= depth}


DEFAULTS = [v for v in all_variants() if v.default]
BROKEN = {v.spec: v for v in all_variants() if v.breaks}
# versions with state variables of their own
OTHERS = [
    v
    for v in all_variants()
    if v.name in {"controller-failover", "changed-min-isr", "log-directories"}
]


@pytest.mark.parametrize("variant", [*DEFAULTS, *BROKEN.values(), *OTHERS], ids=label)
def test_every_spec_has_equal_results(variant: Variant) -> None:
    """The default versions are also searched by fingerprints, on two threads."""
    spec, expected = variant.make(variant.at), Levels()
    plain = explore(spec, engine="python", budget=ENOUGH, progress=expected)
    searches: list[dict[str, Any]] = [{}]
    if variant.default:
        searches.append({"fingerprints": True, "threads": 2})
    for options in searches:
        seen = Levels()
        found = explore(spec, engine="compiled", budget=ENOUGH, progress=seen, **options)
        assert found.engine == "compiled"
        assert (0 < found.collision < 1e-9) if options else (found.notes == ())
        both = min(max(seen), max(expected))
        assert seen.upto(both) == expected.upto(both)
        if plain.why_stopped != "states":
            assert results(found) == results(plain)
            assert found.discoveries == plain.discoveries
            assert found.witnesses == plain.witnesses
            assert options or found.deadlock == plain.deadlock


def test_coverage_counts_the_conjuncts_that_disable_actions() -> None:
    spec = TruncateToHighWatermark(replicas=2, max_leader_epoch=1, max_records=1)
    plain = explore(spec, engine="python", coverage=True)
    found = explore(spec, engine="compiled", coverage=True)
    assert results(found) == results(plain)
    assert sum(map(sum, found.disabled.values())) > found.distinct


def test_deadlocks_are_found() -> None:
    spec = TruncateToHighWatermark(replicas=2, max_leader_epoch=1, max_records=1)
    found = explore(spec, engine="compiled")
    assert found.deadlocks > 0
    last = found.deadlock[-1].state
    assert list(Interpreter.of(spec).steps(spec, last)) == []
