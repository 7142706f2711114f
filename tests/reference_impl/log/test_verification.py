"""The verification of a transaction's first batch (KIP-890): waiting, errors, and guards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import (
    ProducerEpoch,
    ProducerId,
)
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import Send, StepResult
from reference_impl.partition.appends import produce, write_marker
from reference_impl.partition.leader import Leader, on_waits_timer
from reference_impl.partition.verification import on_verified
from reference_impl.protocol.messages import (
    ErrorCode,
    Produce,
)
from reference_impl.protocol.transactions import (
    AddedPartitionsToTxn,
    AddPartitionsToTxn,
)
from tests.reference_impl.log.transactional_leader import (
    ABORT,
    CLIENT,
    COMMIT,
    TP,
    after,
    batch,
    context,
    errors,
    leading,
    marker,
)


def verifying(leader: Leader, request: Produce, correlation: int = 5) -> StepResult[Leader]:
    return produce(leader, context(verifies=True, correlation=correlation), CLIENT, request)


def verified(
    leader: Leader,
    error: ErrorCode = ErrorCode.NONE,
    *,
    correlation: int = 5,
    bugs: Bugs = NO_BUGS,
) -> StepResult[Leader]:
    answer = AddedPartitionsToTxn(topic_partitions=(TP,), error=error)
    return on_verified(leader, context(verifies=True, bugs=bugs), correlation, answer)


def adding(value: str) -> Produce:
    return replace(batch(value), adds_partition=True)


def test_the_first_batch_and_later_ones_wait_for_verification() -> None:
    leader, effects = verifying(leading(), batch("a"))
    (question,) = [effect for effect in effects if isinstance(effect, Send)]
    assert question.to == 2
    assert question.request == AddPartitionsToTxn(
        transactional_id="t7",
        producer_id=ProducerId(7),
        producer_epoch=ProducerEpoch(0),
        topic_partitions=(TP,),
        verify_only=True,
    )
    leader, effects = verifying(leader, batch("b", 1), correlation=6)
    assert (effects, leader.log.end_offset) == ((), 0)
    leader, effects = verified(leader)
    assert errors(effects) == [ErrorCode.NONE, ErrorCode.NONE]
    assert leader.log.end_offset == 2
    _, effects = verifying(leader, batch("c", 2))
    assert errors(effects) == [ErrorCode.NONE]  # open here: no verification


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
def test_a_batch_that_fails_verification_is_not_appended(
    refusal: ErrorCode, expected: ErrorCode
) -> None:
    leader, _ = verifying(leading(), batch("a"))
    leader, effects = verified(leader, refusal)
    assert errors(effects) == [expected]
    assert (leader.log.end_offset, leader.unverified) == (0, ())


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (batch("a"), ErrorCode.INVALID_TXN_STATE),
        (replace(batch("a"), knows_abortable=True), ErrorCode.TRANSACTION_ABORTABLE),
        (replace(batch("a"), adds_partition=True), ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_a_newer_producer_must_abort_after_a_failed_verification(
    request_: Produce, expected: ErrorCode
) -> None:
    """After a failed verification a client with Produce version 11 gets TRANSACTION_ABORTABLE.

    A client with an older version does not know this error and gets INVALID_TXN_STATE.

    Kafka: AddPartitionsToTxnManager.produceRequestVersionToTransactionSupportedOperation.
    """
    leader, _ = verifying(leading(), request_)
    assert errors(verified(leader, ErrorCode.INVALID_TXN_STATE)[1]) == [expected]


def test_the_epoch_is_checked_before_the_verification_and_the_sequence_after_it() -> None:
    """A batch's epoch is checked before the verification, and its sequence number after it.

    Kafka: UnifiedLog.maybeStartTransactionVerification, ProducerAppendInfo.checkSequence.
    """
    leader = after(leading(), batch("a", epoch=1), marker(COMMIT, epoch=1))
    _, effects = verifying(leader, batch("b", 7, epoch=0))
    assert errors(effects) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    leader, effects = verifying(leader, batch("b", 7, epoch=1))
    assert errors(effects) == []  # the gap is not found yet
    _, effects = verified(leader, ErrorCode.INVALID_TXN_STATE)
    assert errors(effects) == [ErrorCode.INVALID_TXN_STATE]
    _, effects = verified(leader)
    assert errors(effects) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]


def test_a_retry_of_an_ended_transaction_is_verified_like_a_first_batch() -> None:
    """If a batch is sent again after its transaction has ended, the leader asks the coordinator
    about the transaction.

    The coordinator does not confirm it, so the batch gets an error. The check for duplicates comes
    only later.

    Kafka: UnifiedLog.hasOngoingTransaction.
    """
    leader = after(leading(), batch("a"), marker(COMMIT))
    leader, effects = verifying(leader, batch("a"))
    assert errors(effects) == []
    _, effects = verified(leader, ErrorCode.INVALID_TXN_STATE)
    assert errors(effects) == [ErrorCode.INVALID_TXN_STATE]


def test_a_truncated_rest_is_ignored_before_and_after_the_verification() -> None:
    """Bytes after the whole batch of a request are ignored, and the batch is appended.

    The batch is the first of a transaction, so it waits for a verification. Kafka:
    UnifiedLog.trimInvalidBytes.
    """
    request = replace(batch("a"), batches=batch("a").batches + b"cut")
    leader, _ = verifying(leading(), request)
    leader, effects = verified(leader)
    assert errors(effects) == [ErrorCode.NONE]
    assert leader.log.end_offset == 1


def test_a_marker_during_verification_removes_the_guard() -> None:
    leader, _ = verifying(leading(), batch("a"))
    leader, effects = write_marker(leader, context(), CLIENT, marker(ABORT))
    assert errors(effects) == [ErrorCode.NONE]  # of the marker: the batch still waits
    leader, effects = verified(leader)
    assert errors(effects) == [ErrorCode.INVALID_TXN_STATE]
    assert (leader.producers.transactions.open, leader.unverified) == ({}, ())


def test_an_error_of_the_coordinator_counts_although_a_marker_removed_the_guard() -> None:
    """A batch gets the coordinator's error, although a marker was written during verification.

    The first coordinator of the transaction crashes after PREPARE_COMMIT. While the next
    coordinator loads its log, it refuses to verify the first batch of the next transaction.
    Meanwhile, the marker of the first transaction is written. The producer retries the batch.
    Kafka: ReplicaManager.handleProduceAppend.
    """
    leader, _ = verifying(leading(), adding("a"))
    leader, _ = write_marker(leader, context(), CLIENT, marker(COMMIT))
    leader, effects = verified(leader, ErrorCode.NOT_COORDINATOR)
    assert (errors(effects), leader.unverified) == ([ErrorCode.NOT_ENOUGH_REPLICAS], ())
    leader, _ = verifying(leader, adding("a"), correlation=6)
    leader, effects = verified(leader, correlation=6)
    assert errors(effects) == [ErrorCode.NONE]


def test_a_batch_after_the_marker_is_verified_by_a_request_of_its_own() -> None:
    leader, _ = verifying(leading(), batch("a"))
    leader, _ = write_marker(leader, context(), CLIENT, marker(ABORT))
    leader, effects = verifying(leader, batch("b"), correlation=6)
    assert len([effect for effect in effects if isinstance(effect, Send)]) == 1
    leader, effects = verified(leader, correlation=6)
    assert errors(effects) == [ErrorCode.NONE]
    leader, effects = verified(leader, correlation=5)
    assert errors(effects) == [ErrorCode.INVALID_TXN_STATE]


def test_bug_guard_outlives_marker_opens_a_hanging_transaction() -> None:
    bugs = frozenset({Bug.GUARD_OUTLIVES_MARKER})
    leader, _ = verifying(leading(), batch("a"))
    leader, _ = write_marker(leader, context(bugs=bugs), CLIENT, marker(ABORT))
    leader, _ = verified(leader, bugs=bugs)
    assert leader.producers.transactions.open == {7: 1}


def test_a_partition_is_added_again_while_the_markers_of_the_former_transaction_are_written() -> (
    None
):
    """The partition leader repeats AddPartitionsToTxn while it gets CONCURRENT_TRANSACTIONS.

    The coordinator returns this error while the markers of the former transaction are written. The
    leader waits 20 ms before each repetition. After 1 s in total, the leader returns the error to
    the producer. In Kafka the limit is 100 ms. The limit is longer here, because each partition is
    added by its own request. Kafka adds all partitions in one request.

    Kafka: ReplicaManager.handleProduceAppend.
    """
    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
    leader, _ = verifying(leading(), adding("a"))
    leader, effects = verified(leader, concurrent)
    assert errors(effects) == []
    leader, effects = write_marker(leader, context(), CLIENT, marker(COMMIT))
    assert errors(effects) == [ErrorCode.NONE]  # of the former transaction: the batch still waits
    leader, effects = on_waits_timer(leader, context(20, correlation=6))
    (question,) = [effect for effect in effects if isinstance(effect, Send)]
    assert (question.correlation, question.to) == (6, 2)
    leader, effects = verified(leader, correlation=5)
    assert errors(effects) == []  # the answer to the first try
    added, effects = verified(leader, correlation=6)
    assert errors(effects) == [ErrorCode.NONE]
    assert added.log.end_offset == 2
    answer = AddedPartitionsToTxn(topic_partitions=(TP,), error=concurrent)
    _, effects = on_verified(leader, context(999), 6, answer)
    assert errors(effects) == []
    _, effects = on_verified(leader, context(1_000), 6, answer)
    assert errors(effects) == [concurrent]


def test_two_producers_add_their_partitions_again_in_two_steps() -> None:
    leader, _ = verifying(leading(), adding("a"))
    other = replace(batch("b", pid=8), adds_partition=True)
    leader, _ = verifying(leader, other, correlation=6)
    for correlation in (5, 6):
        leader, _ = verified(leader, ErrorCode.CONCURRENT_TRANSACTIONS, correlation=correlation)
    asked: list[str] = []
    for correlation in (7, 8):
        leader, effects = on_waits_timer(leader, context(20, correlation=correlation))
        sends = [effect.request for effect in effects if isinstance(effect, Send)]
        asked += [one.transactional_id for one in sends if isinstance(one, AddPartitionsToTxn)]
    assert asked == ["t7", "t8"]


def test_a_verification_timeout_gives_a_retriable_error() -> None:
    leader, _ = verifying(leading(), batch("a"))
    leader, effects = on_waits_timer(leader, context(BrokerSettings().request_timeout_ms))
    assert errors(effects) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    _, effects = verified(leader)
    assert effects == ()
