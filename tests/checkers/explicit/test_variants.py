"""A variant with a bug violates its claim after the recorded number of steps. A variant without a
bug keeps all its claims.
"""

from __future__ import annotations

from itertools import groupby

import pytest

from checkers.track_record import kept
from model.bugs_left_out import BUGS_LEFT_OUT
from model.specs import SPECS, all_variants
from model.variants import Variant
from tools.track_record.catching import catch, explored, safety_of

HOLDING = [v for v in all_variants() if v.breaks is None]
FAILING = [v for v in all_variants() if v.breaks is not None]
MOST_STATES = 2_500_000  # within which every bug must be found

SWITCHED_OFF = {
    # with min.insync.replicas=1, a lossy stop may lose the only copy, so no claim would be left
    "election-changed-min-isr": {"kill", "lose_power", "replace_disk", "detect_crash"},
    # nothing fails by default: with failures the graph is too large for liveness
    "quorum-flush-before-commit": {"change_voters", "restart", "cut_off_replica"},
    "reassignment-abstract-changed-min-isr": {
        "add_replica",
        "remove_replica",
        "replace_replica",
        "complete_reassignment",
        "cancel_reassignment",
        "cancel_removal",
        "delete_replica",
    },
    "reassignment-elr-of-replicas": {"kill", "lose_power", "replace_disk", "detect_crash"},
    # a transaction of two-phase commit has no timeout; the version `v2` has the other faults
    "transactions-kip-939": {"fence", "change_leader", "advance_high_watermark", "expire"},
    "transactions-kip-939-without-keeping": {
        "fence",
        "change_leader",
        "advance_high_watermark",
        "write_late_marker",
        "expire",
    },
    # with all failures the graph is too large for liveness; `v2` has the others
    "transactions-topic-ids": {
        "change_leader",
        "advance_high_watermark",
        "expire",
        "refuse_call",
    },
}


def label(variant: Variant) -> str:
    return f"{variant.spec}-{variant.name}"


@pytest.mark.parametrize("variant", FAILING, ids=label)
def test_every_bug_is_caught_as_recorded_and_its_fix_holds(variant: Variant) -> None:
    caught = catch(variant)
    assert (caught.verdict, caught.fixed_verdict) == ("violated", "holds")
    assert caught.steps == variant.steps
    assert caught.states <= MOST_STATES
    assert variant.summary
    assert caught == kept()[caught.row], "python -m tools.track_record"


@pytest.mark.parametrize("variant", HOLDING, ids=label)
def test_a_sound_version_holds_and_is_not_vacuous(variant: Variant) -> None:
    spec = variant.make(variant.at)
    liveness = [claim.name for claim in spec.liveness_properties]
    found = explored(spec, safety_of(spec), liveness)
    assert found.exhausted
    assert not found.violated
    assert {*found.never_taken} == SWITCHED_OFF.get(label(variant), set())
    assert spec.witnesses
    assert [w for w, seen in found.witnesses.items() if not seen.states] == []
    assert {found.discoveries[name].verdict for name in liveness} <= {"holds"}


def test_every_spec_has_one_default_and_something_that_breaks_it() -> None:
    rows = {spec: list(vs) for spec, vs in groupby(all_variants(), key=lambda v: v.spec)}
    assert list(rows) == list(SPECS)
    for variants in rows.values():
        assert [v.breaks for v in variants if v.default] == [None]
        assert any(v.breaks for v in variants)


def test_at_least_50_reported_bugs_are_caught() -> None:
    """At least 50 reported bugs of Kafka have a variant of a spec that breaks a claim.

    Two variants with the same issue count as one bug.
    """
    assert len({v.issue for v in FAILING if v.issue}) >= 50


def test_no_bug_is_both_caught_and_left_out() -> None:
    left_out = [row.issue for row in BUGS_LEFT_OUT]
    assert len({*left_out}) == len(left_out)
    assert not {v.issue for v in all_variants()} & set(left_out)
    assert all(row.reason for row in BUGS_LEFT_OUT)
