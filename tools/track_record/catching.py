"""Checks that a variant with a bug violates its claim, and that the fixed variant does not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from checkers.explicit.exploration import Budget, Discovery, Exploration
from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from checkers.track_record import Caught
from model.language import Spec
from model.specs import find
from model.variants import Variant

FEW: Final = Budget(states=5_000)


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
    if claim in {c.name for c in spec.liveness_properties}:  # liveness needs all states
        return decide(spec, [claim])[claim], _all_of(variant, bounds).distinct
    found = _explore(spec, [claim]) if variant is bounds else _all_of(variant, bounds)
    return found.discoveries[claim], found.distinct


def _all_of(variant: Variant, bounds: Variant) -> Exploration:
    return _explored(variant.spec, variant.name, tuple(bounds.at.items()))


@cache
def _explored(
    spec: str, variant: str, constants: tuple[tuple[str, int | bool], ...]
) -> Exploration:
    made = find(spec, variant).make(dict(constants))
    return _explore(made, [c.name for c in (*made.claims, *made.action_properties)])


def _explore(spec: Spec, properties: Sequence[str]) -> Exploration:
    found = explore(spec, properties=properties, budget=FEW)
    return explore(spec, properties=properties) if found.why_stopped == "states" else found
