"""Runs of the abstract idempotent producer: retries, fencing, and new leaders."""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from model.idempotence_abstract.bugs import AnyEpoch, AnySequence, UncleanElection
from model.idempotence_abstract.versions import IdempotentProducer
from model.language import Spec
from tests.model.runs import Call, broken, refused, run

A, B = 0, 1  # producers


FIRST: Call = ("append_first", A, 0, 1)  # sequence 0 of epoch 0 of A, at offset 0
NEXT: Call = ("append_next", A, 1, 0, 2)  # sequence 1 after offset 0, at offset 1


def test_a_retry_is_refused_and_the_next_record_is_appended() -> None:
    spec = IdempotentProducer()
    state = run(spec, FIRST, NEXT)
    for sequence in (0, 1):
        assert refused(spec, state, "append_next", A, sequence, 1, 3)
    assert not refused(spec, state, "append_first", B, 0, 3)


def test_a_leader_that_takes_any_sequence_appends_a_retry_twice() -> None:
    spec = AnySequence()
    state = run(spec, FIRST, ("append_next", A, 0, 0, 2))
    assert broken(spec, state) == {"in_order_without_duplicates"}


def test_an_old_instance_is_fenced() -> None:
    fenced, lax = IdempotentProducer(), AnyEpoch()
    newer: Call = ("append_first", A, 1, 1)
    assert refused(fenced, run(fenced, newer), "append_first", A, 0, 2)
    state = run(lax, newer, ("append_first", A, 0, 2))
    assert broken(lax, state) == {"epochs_do_not_go_back"}


def test_a_truncated_record_may_be_appended_again() -> None:
    """A new leader appends the retry of a record that its log lacks, and no claim breaks.

    The first attempt, with sequence number 1, was only in the log of the former leader. So the new
    leader's log has the record once.
    """
    spec = IdempotentProducer()
    state = run(spec, FIRST, ("advance_high_watermark", 1), NEXT, ("change_leader", 1), NEXT)
    assert broken(spec, state) == set()
    assert state["end_offset", ()] == 2


def test_an_unclean_election_loses_an_acknowledged_record() -> None:
    spec, clean = UncleanElection(), IdempotentProducer()
    acknowledged: tuple[Call, ...] = (FIRST, ("advance_high_watermark", 1), ("acknowledge", 0))
    assert refused(clean, run(clean, *acknowledged), "change_leader", 0)
    state = run(spec, *acknowledged, ("change_leader", 0), ("append_first", B, 0, 1))
    assert broken(spec, state) == {"acknowledged_is_durable"}


# ---- explored


def test_the_claims_hold_in_every_state_of_a_small_scope() -> None:
    found = explore(IdempotentProducer())
    assert found.exhausted
    assert (found.distinct, found.generated, found.depth) == (4_816, 27_282, 11)
    assert not found.violated
    assert not found.never_taken
    assert all(seen.states for seen in found.witnesses.values())


@pytest.mark.parametrize(
    ("spec", "breaks", "steps"),
    [
        (AnySequence(), "in_order_without_duplicates", 2),
        (AnySequence(sequences=3), "without_gaps", 2),
        (AnyEpoch(), "in_order_without_duplicates", 2),
        (AnyEpoch(), "epochs_do_not_go_back", 2),
        (UncleanElection(), "acknowledged_is_durable", 5),
    ],
)
def test_bugs_fail_in_the_recorded_steps(spec: Spec, breaks: str, steps: int) -> None:
    found = explore(spec, properties=[breaks])
    assert found.discoveries[breaks].steps == steps


def test_the_lemma_holds_in_every_state() -> None:
    assert not explore(IdempotentProducer(), properties=["committed_is_written"]).violated
