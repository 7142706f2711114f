"""Runs that show bugs of the idempotent producer, and state counts of specs without bugs."""

from __future__ import annotations

import pytest

from checkers.explicit.liveness import decide
from checkers.explicit.search import explore
from model.idempotence import bugs
from model.idempotence.state import QUIET, Batch, Offset, ProducerEpoch, TopicPartition
from model.idempotence.versions import IdempotentProducer, Kip98, Kip360
from model.language import Bool, Spec, true
from model.language.interpreter import State
from tests.model import runs
from tests.model.runs import Call, broken, refused

PROMISED = IdempotentProducer(**QUIET)


def run(spec: Spec, script: str) -> State:
    """Returns the state after a script: the steps `send 0 0` and so on, separated by `;`."""
    calls: list[Call] = []
    for call in script.split(";"):
        name, *words = call.split()
        calls.append((name, *map(int, words)))
    return runs.run(spec, *calls)


def test_the_client_gives_up_a_batch_only_if_the_constant_allows_it() -> None:
    assert refused(PROMISED, run(PROMISED, "send 0 0"), "give_up", 0, 0)
    run(IdempotentProducer(**{**QUIET, "gives_up": True}), "send 0 0; give_up 0 0")


def test_the_quiet_constants_switch_off_every_fault() -> None:
    faults = {"change_leader", "delete", "give_up"}
    assert faults <= {*explore(IdempotentProducer(**QUIET)).never_taken}


# ---- the scripts of the catalogue


def test_the_second_batch_of_a_new_partition_arrives_first() -> None:
    """A leader without state of the producer receives batch 1 before batch 0 (KAFKA-15591).

    Up to Kafka 4.3 the leader accepts batch 1, and then cannot append batch 0. In the default spec
    the leader refuses batch 1.

    Kafka: ProducerAppendInfo.checkSequence.
    """
    script = "send 0 0; send 0 1"
    spec = Kip360(**QUIET)
    state = run(spec, f"{script}; append 0 1")
    assert broken(spec, state) == {
        "in_order_without_gaps",
        "the_next_is_accepted",  # the first can never be appended
    }
    again = run(spec, f"{script}; append 0 1; refuse 0 0; append 0 0; append 0 1")
    assert broken(spec, again) >= {"at_most_once", "as_it_was_sent"}
    assert "is_known" in refused(PROMISED, run(PROMISED, script), "append", 0, 1)


@pytest.mark.parametrize("at", [{}, {"leader_changes": 2, "gives_up": True}])
def test_one_batch_in_flight_keeps_every_claim_of_today_s_kafka(at: dict[str, int]) -> None:
    spec = Kip360(**{**QUIET, **at, "max_in_flight": 1})
    assert explore(spec, engine="python").violated == ()


class Today(bugs.SnapshotKeepsNewest, Kip360):
    """The idempotent producer of Kafka 4.3.

    A leader accepts any first sequence from an unknown producer. A replica that restarts remembers
    only the newest batch.
    """


def test_one_batch_in_flight_is_written_once_even_if_replicas_restart() -> None:
    constants = {**QUIET, "leader_changes": 2}
    assert explore(Today(**constants), properties=["at_most_once"], engine="python").violated
    one = Today(**constants, max_in_flight=1)
    assert explore(one, engine="python").violated == ()


def test_a_window_of_one_batch_appends_a_retry_again() -> None:
    """With the bug KAFKA-5494 the leader appends the retry of an earlier batch again.

    The leader remembers only the newest batch of a producer.
    """
    script = "send 0 0; send 0 1; append 0 0; append 0 1"
    spec = bugs.WindowOfOne(**QUIET)
    state = run(spec, f"{script}; refuse 0 0; append 0 0")
    assert broken(spec, state) == {"at_most_once", "as_it_was_sent"}
    assert "offset" in refused(PROMISED, run(PROMISED, script), "refuse", 0, 0)


def test_a_retry_is_acknowledged_at_the_offset_of_its_first_attempt() -> None:
    state = run(PROMISED, "send 0 0; send 0 1; append 0 0; append 0 1; copy 0; acknowledge 0 0 0")
    assert state["acked_at", (0,)] == 0
    assert "high_watermark" in refused(PROMISED, state, "acknowledge", 0, 1, 1)


def test_producer_state_outlives_deleted_records() -> None:
    """After earlier records of a producer are deleted, the leader still accepts its next batch.

    With the bug KAFKA-7190 the leader refuses this batch.
    """
    script = "send 0 0; append 0 0; copy 0; acknowledge 0 0 0; delete 0; send 0 1"
    before, after = (cls(**{**QUIET, "deletes": True}) for cls in (Kip98, IdempotentProducer))
    state = run(before, script)
    assert "the_next_is_accepted" in broken(before, state)
    assert refused(before, state, "append", 0, 1)
    assert run(after, f"{script}; append 0 1")["log.end_offset", (0,)] == 2


def test_before_kip_360_a_replica_without_records_knows_no_more_than_a_new_one() -> None:
    """The replica forgets the epoch, the sequence and the offset of the last deleted record."""
    spec = Kip98(**{**QUIET, "batches": 3, "deletes": True, "gives_up": True})
    two = "send 0 1; send 0 2; append 0 1; append 0 2; copy 0; copy 0"
    script = f"send 0 0; give_up 0 0; resolve 0; {two}; acknowledge 0 1 0; acknowledge 0 2 1"
    before, after = run(spec, script), run(spec, f"{script}; delete 0; delete 0")
    last = [before[f"leader_knows.{name}", (0,)] for name in ("producer_epoch", "last_sequence")]
    assert last == [1, 1]
    first = runs.run(spec)
    assert [cell for cell in first if "_knows." in cell[0] and after[cell] != first[cell]] == []


def test_the_scope_has_each_batch_once_in_each_epoch_and_the_log_end() -> None:
    scope = IdempotentProducer(batches=3, max_epoch=1).scope()
    assert (scope[ProducerEpoch], scope[Offset]) == (2, 3 * 2 + 1)


def test_a_snapshot_with_only_the_newest_batch_appends_a_retry_again() -> None:
    """If a replica remembers only the newest batch, it appends the retry of an earlier batch again.

    In the run, leadership changes twice, so that the first leader leads again.
    """
    script = "send 0 0; send 0 1; append 0 0; append 0 1; copy 0; copy 0"
    changes = "change_leader 0; change_leader 0"
    spec = bugs.SnapshotKeepsNewest(**{**QUIET, "leader_changes": 2})
    state = run(spec, f"{script}; {changes}; refuse 0 0; append 0 0")
    assert broken(spec, state) == {"at_most_once", "as_it_was_sent"}


def test_a_batch_that_was_given_up_may_arrive_until_it_is_fenced() -> None:
    spec = IdempotentProducer(**{**QUIET, "gives_up": True})
    given_up = "send 0 0; give_up 0 0; resolve 0; send 0 1"
    assert run(spec, f"{given_up}; append 0 0; append 0 1")["log.end_offset", (0,)] == 2
    assert refused(spec, run(spec, f"{given_up}; append 0 1"), "append", 0, 0)


# ---- claims that no bug of the catalogue breaks


class AcknowledgesAtOnce(IdempotentProducer):
    """A mutant whose leader acknowledges a record before its follower has the record."""

    def is_committed(s, p: TopicPartition, o: Offset) -> Bool:
        return true


class ComparesNoEpochs(IdempotentProducer):
    """A mutant whose leader accepts sequence 0 of any producer epoch."""

    def continues(s, p: TopicPartition, b: Batch) -> Bool:
        return super().continues(p, b) | (s.sequence_of[b] == 0)


@pytest.mark.parametrize(
    ("spec", "claim"),
    [
        (AcknowledgesAtOnce(**QUIET), "acknowledged_is_there"),
        (ComparesNoEpochs(**{**QUIET, "gives_up": True}), "epochs_do_not_go_back"),
    ],
)
def test_without_a_rule_a_claim_fails(spec: Spec, claim: str) -> None:
    assert explore(spec, properties=[claim], engine="python").violated == (claim,)


# ---- explored


@pytest.mark.parametrize(
    ("spec", "distinct"),
    [
        (IdempotentProducer(), 764),
        (IdempotentProducer(partitions=2), 24_348),
        (IdempotentProducer(batches=4, max_epoch=2, leader_changes=2), 6_858),
        (IdempotentProducer(batches=4, max_in_flight=4, window=4), 3_032),
    ],
)
def test_the_claims_hold_with_these_constants(spec: Spec, distinct: int) -> None:
    found = explore(spec)
    assert (found.exhausted, found.distinct) == (True, distinct)
    assert not found.violated


def test_more_batches_in_flight_than_the_window_break_a_claim() -> None:
    """If more batches are in flight than the leader remembers, a batch may be appended twice.

    Kafka remembers five batches, so max.in.flight.requests.per.connection is at most five.
    """
    found = explore(IdempotentProducer(max_in_flight=3, window=2), properties=["at_most_once"])
    assert found.violated


@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        (IdempotentProducer(max_epoch=3), "holds"),
        (bugs.ChecksCopies(**{**QUIET, "deletes": True}), "violated"),
        (bugs.WindowOfOne(**QUIET), "violated"),
    ],
)
def test_a_batch_out_of_order_for_ever_is_never_answered(spec: Spec, verdict: str) -> None:
    """With either of two bugs, a batch stays out of order for ever, and is never answered.

    Without these bugs, every batch is eventually acknowledged or given up.
    """
    assert decide(spec)["batches_are_answered"].verdict == verdict
