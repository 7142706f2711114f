"""A leader restarts while a client waits for a response. With the proposed rule, no batch is
appended twice. With Kafka's rule, a batch may be.

The version `with-restarts` has the proposed rule, and is proved without bounds. The version
`snapshot-keeps-newest` has Kafka's rule: a restarted leader recognises only the newest batch of
each producer. One condition of its proof fails.
"""

from __future__ import annotations

import pytest

from checkers.explicit.search import explore
from checkers.symbolic import prove
from model.idempotence_abstract.state import Offset, Producer, Sequence
from model.idempotence_abstract.versions import SnapshotKeepsNewest, WithRestarts
from model.language import Bool, false, true
from model.language.interpreter import Interpreter
from tests.model.runs import Call, action, broken, refused, run

P = 0  # the producer
R1, R2 = 0, 1  # two batches

BOTH_APPENDED: tuple[Call, ...] = (
    ("send", R1, P, 0),
    ("append_first", P, 0, 1),
    ("send", R2, P, 1),
    ("append_next", P, 1, 0, 2),
)


def test_a_leader_that_keeps_its_window_refuses_no_batch_of_its_log() -> None:
    spec = WithRestarts()
    state = run(spec, *BOTH_APPENDED, ("restart", 2))
    assert refused(spec, state, "refuse", P, 0, 1)
    assert refused(spec, state, "refuse", P, 1, 1)


def test_a_leader_that_keeps_one_batch_appends_the_older_one_again() -> None:
    spec = SnapshotKeepsNewest()
    state = run(
        spec,
        *BOTH_APPENDED,
        ("restart", 2),
        ("refuse", P, 0, 1),
        ("renumber", P, 0, 0, 0),
        ("append_first", P, 1, 3),
    )
    assert broken(spec, state) == {"at_most_once"}
    again = Interpreter.of(spec).step(action(spec, "renumber"), state, [P, 0, 1, 1])
    assert again is not None, "the newer batch gets a new number too: r1 r2 r1 r2"


def test_the_newest_batch_alone_is_restored() -> None:
    spec = SnapshotKeepsNewest()
    state = run(spec, *BOTH_APPENDED, ("restart", 2))
    assert [state["is_in_window", (o,)] for o in range(2)] == [False, True]
    after_loss = run(spec, *BOTH_APPENDED, ("restart", 1))
    assert [after_loss["is_in_window", (o,)] for o in range(2)] == [True, False]


def test_a_batch_whose_record_was_lost_is_appended_under_its_new_number() -> None:
    spec = WithRestarts()
    state = run(spec, *BOTH_APPENDED, ("restart", 0), ("refuse", P, 0, 1))
    assert refused(spec, state, "append_first", P, 0, 1), "an old number arrives no more"
    for calls in (("renumber", P, 0, 0, 0), ("append_first", P, 1, 1)):
        name, *values = calls
        after = Interpreter.of(spec).step(action(spec, str(name)), state, [int(v) for v in values])
        assert after is not None
        state = after
    assert not broken(spec, state)


def test_the_claims_are_proved_without_bounds_also_with_restarts() -> None:
    proof = prove(WithRestarts())
    assert proof.holds, proof.reason
    assert "at_most_once" in {claim.name for claim in proof.claims}


def test_the_rule_of_kafka_fails_at_restart_alone() -> None:
    failed = prove(SnapshotKeepsNewest()).failed
    assert [(c.action, c.claim) for c in failed] == [("restart", "the_window_has_the_log")]


class RefusesAny(WithRestarts):
    """A mutant whose leader may refuse a batch while one with a lower number is in flight."""

    def is_lowest(s, producer: Producer, sequence: Sequence) -> Bool:
        return true


class LosesItsWindow(WithRestarts):
    """A mutant whose leader forgets every batch at a restart."""

    def is_restored(s, offset: Offset, end: Offset) -> Bool:
        return false


@pytest.mark.parametrize(("wrong", "at"), [(RefusesAny, "refuse"), (LosesItsWindow, "restart")])
def test_without_a_rule_the_proof_fails_at_its_action(wrong: type[WithRestarts], at: str) -> None:
    assert {c.action for c in prove(wrong()).failed} == {at}
    found = explore(wrong(), properties=["at_most_once"])
    assert found.violated == ("at_most_once",)
    assert len(found.discoveries["at_most_once"].trace) - 1 == 6


def test_two_producers_and_three_batches_keep_the_claims() -> None:
    for constants in ({"batches": 3, "sequences": 3}, {"producers": 2, "offsets": 3}):
        found = explore(WithRestarts(**constants))
        assert found.exhausted
        assert not found.violated
