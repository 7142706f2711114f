"""Checks that a variant with a bug violates its claim, and that the fixed variant does not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from checkers.explicit.compiled.library import SMALL_SEARCH
from checkers.explicit.exploration import Budget, Discovery, Exploration
from checkers.explicit.liveness import with_liveness
from checkers.explicit.search import explore
from checkers.track_record import Caught
from model.language import Spec
from model.specs import find
from model.variants import Variant

BUDGETS: Final = (SMALL_SEARCH, None)  # of states: the first one needs less compilation
SOON: Final = (5_000, *BUDGETS)  # most bugs violate their claim within the first one


def catch(variant: Variant) -> Caught:
    """Returns the verdicts on the claim that a bug breaks: the verdict on the variant with the bug,
    and the verdict on the fixed variant.
    """
    assert variant.breaks is not None
    fixed = find(variant.spec, variant.fixed_by)
    caught, states = _decided(variant, variant, variant.breaks)
    holds, fixed_states = _decided(fixed, variant, variant.breaks)
    return Caught(
        spec=variant.spec,
        variant=variant.name,
        breaks=variant.breaks,
        verdict=caught.verdict,
        steps=caught.steps,
        states=states,
        fixed_by=fixed.name,
        fixed_verdict=holds.verdict,
        fixed_states=fixed_states,
    )


def _decided(variant: Variant, bounds: Variant, claim: str) -> tuple[Discovery, int]:
    spec = variant.make(bounds.at)
    needs_every_state = claim in {c.name for c in spec.liveness_properties}
    if variant is bounds and not needs_every_state:
        found = explored(spec, [claim], budgets=SOON)
    else:
        found = _all_of(variant.spec, variant.name, tuple(bounds.at.items()))
    return found.discoveries[claim], found.distinct


@cache
def _all_of(spec: str, variant: str, constants: tuple[tuple[str, int | bool], ...]) -> Exploration:
    made = find(spec, variant).make(dict(constants))
    return explored(made, safety_of(made), [c.name for c in made.liveness_properties])


def safety_of(spec: Spec) -> Sequence[str]:
    return [c.name for c in (*spec.claims, *spec.action_properties)]


def explored(
    spec: Spec,
    properties: Sequence[str],
    liveness: Sequence[str] = (),
    *,
    budgets: Sequence[int | None] = BUDGETS,
) -> Exploration:
    """Explores a spec with each budget of states, until a search ends for another reason."""
    for states in budgets:
        budget = Budget(states=states)
        found = explore(spec, properties=properties, liveness=liveness, budget=budget)
        if found.why_stopped != "states":
            return with_liveness(spec, found, liveness, budget)
    raise AssertionError("a search without a budget ended at its budget")
