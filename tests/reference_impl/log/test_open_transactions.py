"""Open transactions at a leader: last stable offset, aborted records, rejected batches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
    Sequence,
    TopicPartition,
)
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record_batch import Record, decode, encode, header
from reference_impl.log.record_batch import batches as split
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Reply, Send, StepResult
from reference_impl.node.timeouts import Timeouts
from reference_impl.partition.appends import on_verified, produce, write_marker
from reference_impl.partition.leader import Leader, become_leader, on_waits_timer
from reference_impl.partition.reads import fetch, list_offsets
from reference_impl.protocol.controller import BrokerState, PartitionState
from reference_impl.protocol.coordinators import TRANSACTION_STATE, Coordinators
from reference_impl.protocol.messages import (
    FIRST_CLIENT,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    Produce,
    Produced,
)
from reference_impl.protocol.transactions import (
    AddedPartitionsToTxn,
    AddPartitionsToTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
    WrittenTxnMarker,
)

TP = TopicPartition("orders", 0)
CLIENT = Requester(FIRST_CLIENT, 7)
COORDINATOR = Coordinators({TopicPartition(TRANSACTION_STATE, 0): BrokerId(2)})
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT


def context(
    now_ms: int = 0, *, bugs: Bugs = NO_BUGS, verifies: bool = False, correlation: int = 1
) -> Context:
    return Context(
        now_ms=now_ms,
        broker_id=BrokerId(1),
        broker_epoch=BrokerEpoch(11),
        brokers={
            BrokerId(n): BrokerState(
                broker_id=BrokerId(n), broker_epoch=BrokerEpoch(10 + n), fenced=False
            )
            for n in (1, 2)
        },
        correlation=correlation,
        timeouts=Timeouts(),
        bugs=bugs,
        verifies_transactions=verifies,
        coordinators=COORDINATOR,
    )


def leading(*followers: int) -> Leader:
    members = tuple(map(BrokerId, (1, *followers)))
    state = PartitionState(
        replicas=members,
        isr=members,
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(0),
    )
    return become_leader(TP, PartitionLog(), ProducerStates(), state, context())[0]


def batch(
    value: str, sequence: int = 0, *, pid: int = 7, epoch: int = 0, transactional: bool = True
) -> Produce:
    data = encode(
        [Record(value=value.encode())],
        producer_id=ProducerId(pid),
        producer_epoch=ProducerEpoch(epoch),
        base_sequence=Sequence(sequence),
        transactional=transactional,
    )
    return Produce(topic_partition=TP, batches=data, transactional_id=f"t{pid}")


def marker(
    result: TxnResult,
    *,
    pid: int = 7,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    version: TransactionVersion = TransactionVersion.V1,
) -> WriteTxnMarker:
    return WriteTxnMarker(
        topic_partition=TP,
        transactional_id=f"t{pid}",
        producer_id=ProducerId(pid),
        producer_epoch=ProducerEpoch(epoch),
        coordinator_epoch=coordinator_epoch,
        result=result,
        version=version,
    )


def replies(effects: Effects) -> list[object]:
    return [effect.response for effect in effects if isinstance(effect, Reply)]


def errors(effects: Effects) -> list[ErrorCode]:
    return [
        answer.error
        for answer in replies(effects)
        if isinstance(answer, Produced | WrittenTxnMarker)
    ]


def after(leader: Leader, *requests: Produce | WriteTxnMarker, bugs: Bugs = NO_BUGS) -> Leader:
    for request in requests:
        leader, _ = send(leader, request, bugs=bugs)
    return leader


def send(
    leader: Leader, request: Produce | WriteTxnMarker, *, bugs: Bugs = NO_BUGS
) -> StepResult[Leader]:
    if isinstance(request, Produce):
        return produce(leader, context(bugs=bugs), CLIENT, request)
    return write_marker(leader, context(bugs=bugs), CLIENT, request)


def fetched(leader: Leader, *, offset: int = 0, bugs: Bugs = NO_BUGS) -> Fetched:
    request = Fetch(topic_partition=TP, fetch_offset=Offset(offset), read_committed=True)
    _, effects = fetch(leader, context(bugs=bugs), CLIENT, request)
    (answer,) = replies(effects)
    assert isinstance(answer, Fetched)
    return answer


def consumed(leader: Leader, *, bugs: Bugs = NO_BUGS) -> list[str]:
    """Returns the values that a read_committed consumer reads, with the algorithm of KIP-98."""
    answer = fetched(leader, bugs=bugs)
    waiting = sorted(answer.aborted, key=lambda txn: txn.first_offset)
    active: set[int] = set()
    values: list[str] = []
    for data in split(answer.batches):
        head = header(data)
        while waiting and waiting[0].first_offset <= head.last_offset:
            active.add(waiting.pop(0).producer_id)
        if head.is_control:
            active.discard(head.producer_id)
        elif not (head.is_transactional and head.producer_id in active):
            values += [(record.value or b"").decode() for _, record in decode(data)]
    return values


def stable(leader: Leader, *, bugs: Bugs = NO_BUGS) -> int:
    request = ListOffsets(topic_partition=TP, read_committed=True)
    _, effects = list_offsets(leader, context(bugs=bugs), CLIENT, request)
    (answer,) = replies(effects)
    assert isinstance(answer, ListedOffsets)
    return answer.offset


# ---------------------------------------------------------------- isolation


def test_an_open_transaction_holds_back_the_last_stable_offset_until_its_marker() -> None:
    leader = after(leading(), batch("a"), batch("b", pid=8))
    assert (stable(leader), consumed(leader)) == (0, [])
    leader = after(leader, marker(COMMIT))
    assert (stable(leader), consumed(leader)) == (1, ["a"])
    leader = after(leader, marker(ABORT, pid=8))
    assert (stable(leader), consumed(leader)) == (4, ["a"])


def test_an_aborted_transaction_is_listed_from_its_first_record_to_its_marker() -> None:
    leader = after(leading(), batch("a"), batch("b", 1), marker(ABORT), batch("c", 2))
    assert [(txn.producer_id, txn.first_offset) for txn in fetched(leader, offset=1).aborted] == [
        (7, 0)
    ]
    assert fetched(leader, offset=3).aborted == ()
    assert consumed(after(leader, marker(COMMIT))) == ["c"]


def test_read_uncommitted_reads_all_replicated_records() -> None:
    leader = after(leading(), batch("a"))
    request = Fetch(topic_partition=TP, fetch_offset=Offset(0))
    (answer,) = replies(fetch(leader, context(), CLIENT, request)[1])
    assert isinstance(answer, Fetched)
    assert len(answer.batches) > 0
    assert (answer.high_watermark, answer.last_stable_offset, answer.aborted) == (1, 0, ())


def test_an_unreplicated_marker_holds_back_the_last_stable_offset() -> None:
    """The last stable offset does not pass a transaction before its marker is replicated.

    An unreplicated marker may still be lost, and the last stable offset must not decrease.
    """
    leader = after(leading(2), batch("a"))
    replicated = Fetch(
        topic_partition=TP,
        fetch_offset=Offset(1),
        replica_id=BrokerId(2),
        replica_epoch=BrokerEpoch(12),
        last_fetched_epoch=LeaderEpoch(0),
    )
    leader, _ = fetch(leader, context(), CLIENT, replicated)
    leader = after(leader, marker(ABORT))
    assert (leader.log.high_watermark, stable(leader)) == (1, 0)
    assert stable(leader, bugs=frozenset({Bug.UNREPLICATED_MARKER_COUNTS})) == 1
    behind = Fetch(
        topic_partition=TP,
        fetch_offset=Offset(2),
        replica_id=BrokerId(2),
        replica_epoch=BrokerEpoch(12),
        last_fetched_epoch=LeaderEpoch(0),
    )
    leader, effects = fetch(leader, context(), CLIENT, behind)
    assert errors(effects) == [ErrorCode.NONE]  # of the marker, now on both
    assert stable(leader) == 2
    assert leader.producers.transactions.unreplicated == ()


def test_bug_last_stable_offset_read_shows_an_open_transaction() -> None:
    leader = after(leading(), batch("a"))
    assert consumed(leader, bugs=frozenset({Bug.LAST_STABLE_OFFSET_READ})) == ["a"]


def test_bug_aborted_not_told_shows_an_aborted_record() -> None:
    leader = after(leading(), batch("a"), marker(ABORT))
    assert consumed(leader) == []
    assert consumed(leader, bugs=frozenset({Bug.ABORTED_NOT_TOLD})) == ["a"]


# ---------------------------------------------------------------- producers and markers


def test_sequence_numbers_continue_in_v1_and_restart_per_transaction_in_v2() -> None:
    leader = after(leading(), batch("a"), marker(COMMIT), batch("b", 1))
    assert leader.log.end_offset == 3
    v2 = marker(COMMIT, epoch=1, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), v2)
    _, effects = send(leader, batch("late", 1))
    assert errors(effects) == [ErrorCode.INVALID_PRODUCER_EPOCH]  # the marker fenced it
    _, effects = send(leader, batch("b", 1, epoch=1))
    assert errors(effects) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    _, effects = send(leader, batch("b", 0, epoch=1))
    assert errors(effects) == [ErrorCode.NONE]


def test_a_batch_outside_its_producers_open_transaction_is_rejected() -> None:
    leader = after(leading(), batch("a"))
    _, effects = send(leader, batch("b", 1, transactional=False))
    assert errors(effects) == [ErrorCode.INVALID_TXN_STATE]


@pytest.mark.parametrize(
    ("late", "error"),
    [
        (marker(ABORT, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH),
        (marker(ABORT, epoch=1, coordinator_epoch=3), ErrorCode.TRANSACTION_COORDINATOR_FENCED),
        (marker(ABORT, epoch=1, coordinator_epoch=5), ErrorCode.NONE),
        (
            marker(ABORT, epoch=1, coordinator_epoch=5, version=TransactionVersion.V2),
            ErrorCode.INVALID_PRODUCER_EPOCH,
        ),
    ],
)
def test_an_outdated_marker_is_rejected(late: WriteTxnMarker, error: ErrorCode) -> None:
    first = marker(COMMIT, epoch=1, coordinator_epoch=4, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), first, batch("b", epoch=1))
    _, effects = send(leader, late)
    assert errors(effects) == [error]


def test_a_repeated_marker_without_an_open_transaction_is_written_and_ends_nothing() -> None:
    v2 = marker(COMMIT, epoch=1, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), v2)
    again, effects = send(leader, v2)
    assert errors(effects) == [ErrorCode.NONE]
    assert again.log.end_offset == 3
    assert consumed(again) == ["a"]


def test_bug_late_marker_accepted_ends_the_next_transaction() -> None:
    v2 = marker(COMMIT, epoch=1, version=TransactionVersion.V2)
    leader = after(leading(), batch("a"), v2, batch("b", epoch=1))
    assert consumed(after(leader, v2)) == ["a"]
    bugs = frozenset({Bug.LATE_MARKER_ACCEPTED})
    assert consumed(after(leader, v2, bugs=bugs)) == ["a", "b"]


# ---------------------------------------------------------------- verification


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
def test_a_newer_producer_is_told_to_abort(request_: Produce, expected: ErrorCode) -> None:
    """After a failed verification a newer producer gets TRANSACTION_ABORTABLE.

    A producer before Produce version 11 does not know this error and gets INVALID_TXN_STATE.

    Kafka: AddPartitionsToTxnManager.produceRequestVersionToTransactionSupportedOperation.
    """
    leader, _ = verifying(leading(), request_)
    assert errors(verified(leader, ErrorCode.INVALID_TXN_STATE)[1]) == [expected]


def test_the_epoch_is_checked_before_the_verification_and_the_sequence_after_it() -> None:
    """Kafka: UnifiedLog.maybeStartTransactionVerification, ProducerAppendInfo.checkSequence."""
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
    """A batch that is sent again after its transaction has ended is verified.

    The verification fails, so the batch gets an error. The check for duplicates comes only later.

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
    assert ErrorCode.INVALID_TXN_STATE in errors(effects)
    leader, effects = verified(leader)
    assert errors(effects) == []
    assert leader.producers.transactions.open == {}


def test_bug_guard_outlives_marker_opens_a_hanging_transaction() -> None:
    bugs = frozenset({Bug.GUARD_OUTLIVES_MARKER})
    leader, _ = verifying(leading(), batch("a"))
    leader, _ = write_marker(leader, context(bugs=bugs), CLIENT, marker(ABORT))
    leader, _ = verified(leader, bugs=bugs)
    assert leader.producers.transactions.open == {7: 1}


def test_a_verification_timeout_gives_a_retriable_error() -> None:
    leader, _ = verifying(leading(), batch("a"))
    leader, effects = on_waits_timer(leader, context(Timeouts().request_timeout_ms))
    assert errors(effects) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    _, effects = verified(leader)
    assert effects == ()


# ---------------------------------------------------------------- a fold of the log


@given(
    st.lists(
        st.tuples(st.sampled_from((7, 8, 9)), st.sampled_from(("write", COMMIT, ABORT))),
        max_size=20,
    )
)
def test_readers_get_committed_records_below_the_oldest_open_transaction(
    did: list[tuple[int, str | TxnResult]],
) -> None:
    leader = leading()
    sequences = {7: 0, 8: 0, 9: 0}
    records: list[tuple[int, int, str]] = []  # offset, producer, value
    ended: dict[str, TxnResult] = {}
    for pid, deed in did:
        offset = leader.log.end_offset
        if isinstance(deed, TxnResult):
            leader = after(leader, marker(deed, pid=pid))
            ended |= {v: deed for _, who, v in records if who == pid and v not in ended}
        else:
            leader = after(leader, batch(f"v{offset}", sequences[pid], pid=pid))
            records.append((offset, pid, f"v{offset}"))
            sequences[pid] += 1
    open_offsets = [offset for offset, _, value in records if value not in ended]
    first_open = min(open_offsets, default=leader.log.end_offset)
    assert stable(leader) == first_open
    assert consumed(leader) == [
        value for offset, _, value in records if offset < first_open and ended[value] is COMMIT
    ]
    assert leader.producers.transactions.open == {
        pid: min(offset for offset, who, value in records if who == pid and value not in ended)
        for pid in {who for _, who, value in records if value not in ended}
    }
    refolded = ProducerStates.of(leader.log.batches())
    assert refolded.replicated_to(leader.log.high_watermark) == leader.producers
