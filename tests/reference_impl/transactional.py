"""A transactional client for tests with an `InstantCluster`."""

from __future__ import annotations

from typing import Any

from model.vocabulary import ProducerEpoch, ProducerId, TopicPartition
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import (
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
)
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TransactionMetadata

InstantCluster = Any  # of conftest
V1, V2 = TransactionVersion.V1, TransactionVersion.V2
NONE = ErrorCode.NONE


class Client:
    """A transactional producer whose requests a test sends one at a time."""

    def __init__(self, cluster: InstantCluster, version: TransactionVersion = V1) -> None:
        self.cluster, self.version, self.sequences = cluster, version, dict[TopicPartition, int]()
        self.producer = (-1, -1)

    def begin(self, timeout_ms: int = 60_000) -> Client:
        request = InitProducerId(transactional_id="t", timeout_ms=timeout_ms)
        at = self.cluster.coordinator("t", transactional=True)
        while (answer := self.cluster.call(request, at)).error is ErrorCode.CONCURRENT_TRANSACTIONS:
            self.cluster.pass_time(50)
        assert answer.error is NONE
        self.producer = (answer.producer_id, answer.producer_epoch)
        self.sequences.clear()
        return self

    @property
    def who(self) -> dict[str, Any]:
        return {
            "transactional_id": "t",
            "producer_id": ProducerId(self.producer[0]),
            "producer_epoch": ProducerEpoch(self.producer[1]),
        }

    def coordinator(self) -> int:
        return int(self.cluster.coordinator("t", transactional=True))

    def add(self, *places: TopicPartition) -> ErrorCode:
        request = AddPartitionsToTxn(**self.who, topic_partitions=places)
        return ErrorCode(self.cluster.call(request, self.coordinator()).error)

    def send(self, place: TopicPartition, value: str, *, added: bool = True) -> ErrorCode:
        if self.version is V1 and added:
            assert self.add(place) is NONE
        sequence = self.sequences.get(place, 0)
        error = self.cluster.write(
            place, value, self.producer, sequence,
            transactional_id="t", adds=self.version is V2,
        )  # fmt: skip
        if error is NONE:
            self.sequences[place] = sequence + 1
        return ErrorCode(error)

    def end(self, result: TxnResult) -> EndedTxn:
        request = EndTxn(**self.who, result=result, version=self.version)
        answer = self.cluster.call(request, self.coordinator())
        assert isinstance(answer, EndedTxn)
        if self.version is V2 and answer.error is NONE:
            if (answer.producer_id, answer.producer_epoch) != self.producer:
                self.sequences.clear()
            self.producer = (answer.producer_id, answer.producer_epoch)
        return answer


def state(cluster: InstantCluster, broker: int = 1) -> TransactionMetadata:
    roles = cluster.nodes[broker].local_coordinators.roles.values()
    (found,) = [
        role.transactions["t"]
        for role in roles
        if isinstance(role, TransactionCoordinator) and "t" in role.transactions
    ]
    return found
