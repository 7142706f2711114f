"""A leader, the transactional requests that tests send to it, and its responses to readers."""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import (
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
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Reply, StepResult
from reference_impl.partition.appends import produce, write_marker
from reference_impl.partition.leader import Leader, become_leader
from reference_impl.partition.reads import fetch, list_offsets
from reference_impl.protocol.controller import PartitionState
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
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
    WrittenTxnMarker,
)
from tests.reference_impl.committed_values import committed_values
from tests.reference_impl.contexts import BROKER_1, registered

TP = TopicPartition("orders", 0)
CLIENT = Requester(FIRST_CLIENT, 7)
COORDINATOR = Coordinators({TopicPartition(TRANSACTION_STATE, 0): BrokerId(2)})
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT


def context(
    now_ms: int = 0, *, bugs: Bugs = NO_BUGS, verifies: bool = False, correlation: int = 1
) -> Context:
    return replace(
        BROKER_1,
        now_ms=now_ms,
        brokers=registered(1, 2),
        correlation=correlation,
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
    return committed_values(fetched(leader, bugs=bugs))


def stable(leader: Leader, *, bugs: Bugs = NO_BUGS) -> int:
    request = ListOffsets(topic_partition=TP, read_committed=True)
    _, effects = list_offsets(leader, context(bugs=bugs), CLIENT, request)
    (answer,) = replies(effects)
    assert isinstance(answer, ListedOffsets)
    return answer.offset
