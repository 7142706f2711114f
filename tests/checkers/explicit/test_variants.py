"""The table of variants tells the truth: what fails fails as it says, what holds holds."""

from __future__ import annotations

from itertools import groupby

import pytest

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.specs import SPECS, VARIANTS
from model.variants import Variant

HOLDING = [v for v in VARIANTS if v.breaks is None]
FAILING = [v for v in VARIANTS if v.breaks is not None]


def label(variant: Variant) -> str:
    return f"{variant.spec}-{variant.name}"


@pytest.mark.parametrize("variant", FAILING, ids=label)
def test_a_broken_variant_fails_in_so_many_steps(variant: Variant) -> None:
    assert variant.breaks is not None
    spec = variant.make(variant.see)
    if variant.breaks in {claim.name for claim in spec.liveness_properties}:
        found = decide(spec, [variant.breaks])[variant.breaks]
    else:
        found = explore(spec, properties=[variant.breaks]).discoveries[variant.breaks]
    assert found.verdict == "violated"
    assert found.steps == variant.steps
    assert variant.says


@pytest.mark.parametrize("variant", HOLDING, ids=label)
def test_a_sound_version_holds_and_is_not_empty(variant: Variant) -> None:
    """Lemmas included; every action happens, every witness is seen."""
    spec = variant.make(variant.see)
    claims = (*spec.claims, *spec.action_properties)
    found = explore(spec, properties=[claim.name for claim in claims])
    assert found.exhausted
    assert not found.violated
    assert not found.never_taken
    assert spec.witnesses
    assert [w for w, seen in found.witnesses.items() if not seen.states] == []
    assert {d.verdict for d in decide(spec).values()} <= {"holds"}


def test_every_spec_has_one_default_and_something_that_breaks_it() -> None:
    rows = {spec: list(vs) for spec, vs in groupby(VARIANTS, key=lambda v: v.spec)}
    assert list(rows) == list(SPECS)
    for variants in rows.values():
        assert [v.breaks for v in variants if v.default] == [None]
        assert any(v.breaks for v in variants)
