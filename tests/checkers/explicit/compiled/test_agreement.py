"""Generated C explores what plain Python explores, on every spec of the table."""

from __future__ import annotations

import pytest

from checkers.explicit.exploration import Budget, Exploration
from checkers.explicit.search import explore
from model.specs import VARIANTS
from model.variants import Variant

ENOUGH = Budget(states=40_000)


def label(variant: Variant) -> str:
    return f"{variant.spec}-{variant.name}"


def told(found: Exploration) -> dict[str, object]:
    """All that an exploration says that does not depend on the order inside a level."""
    return {
        "counts": (found.distinct, found.generated, found.depth, found.why_stopped),
        "taken": found.taken,
        "verdicts": {n: (d.verdict, d.steps, d.reason) for n, d in found.discoveries.items()},
        "witnesses": {n: (w.states, len(w.trace)) for n, w in found.witnesses.items()},
    }


@pytest.mark.parametrize("variant", VARIANTS, ids=label)
def test_on_every_variant(variant: Variant) -> None:
    spec = variant.make(variant.see)
    plain = explore(spec, engine="python", budget=ENOUGH)
    if plain.why_stopped == "states":
        pytest.skip("more states than this test may spend")
    exact = explore(spec, engine="compiled")
    assert (exact.engine, exact.notes) == ("compiled", ())
    assert told(exact) == told(plain)
    assert exact.discoveries == plain.discoveries
    assert exact.witnesses == plain.witnesses
    assert told(explore(spec, engine="compiled", fingerprints=True)) == told(plain)
