"""Producer state survives the deletion of records, a truncation and a crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import (
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    Sequence,
    TopicPartition,
)
from reference_impl.log import transaction_marker
from reference_impl.log.partition_log import NO_SNAPSHOT, NO_SNAPSHOTS, PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, stamped
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.node.bugs import Bug
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.deletion import DeleteRecords
from reference_impl.protocol.messages import ErrorCode, Produce, Produced
from reference_impl.protocol.topic_config import LogConfig
from reference_impl.protocol.transactions import TxnResult

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
TP = TopicPartition("orders", 0)
SMALL = 250  # bytes of a segment: two or three batches
PIDS = (7, 8, 9)


@dataclass
class Replica:
    """A log with its producer state, and all batches that were ever appended to the log."""

    log: PartitionLog = field(default_factory=PartitionLog)
    producers: ProducerStates = field(default_factory=ProducerStates)
    history: list[Batch] = field(default_factory=list)
    sequences: dict[int, int] = field(default_factory=dict)

    def append(self, data: bytes) -> None:
        data = stamped(data, base_offset=self.log.end_offset, leader_epoch=LeaderEpoch(0))
        batch = Batch.of(data)
        self.log = self.log.append(
            batch, before=self.producers, config=LogConfig(segment_bytes=SMALL)
        )
        self.producers = self.producers.after(batch)
        self.history.append(batch)

    def send(self, pid: int, *, transactional: bool) -> None:
        sequence = self.sequences.get(pid, 0)
        self.sequences[pid] = sequence + 1
        self.append(
            encode(
                [Record(value=b"v")],
                producer_id=ProducerId(pid),
                producer_epoch=ProducerEpoch(0),
                base_sequence=Sequence(sequence),
                transactional=transactional,
            )
        )

    def end(self, pid: int, result: TxnResult) -> None:
        marker = transaction_marker.encoded(
            Marker(result, 3),
            producer_id=ProducerId(pid),
            producer_epoch=ProducerEpoch(0),
            timestamp_ms=0,
        )
        self.append(marker)

    def truncate(self, back: int) -> None:
        offset = Offset(max(self.log.log_start, self.log.end_offset - back))
        self.log = self.log.truncate_to(offset)
        self.producers = self.log.producers()
        self.history = [b for b in self.history if b.header.next_offset <= self.log.end_offset]

    def retain(self, count: int) -> None:
        self.log = self.log.without_segments(min(count, len(self.log.segments)), self.producers)

    def crash(self) -> None:
        self.log = self.log.after_process_crash()
        self.producers = self.log.producers()

    def fold(self) -> ProducerStates:
        """Returns the producer state after a replay of the log's batches.

        Below the newest snapshot, only the newest batch of each producer counts.
        """
        newest = self.log.snapshots[-1] if self.log.snapshots else NO_SNAPSHOT
        before = [b for b in self.history if b.header.next_offset <= newest.offset]
        behind = self.history[len(before) :]
        return ProducerStates.of(before).with_newest_batches().after_all(behind)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just(Replica.send), st.sampled_from(PIDS), st.booleans()),
        st.tuples(st.just(Replica.end), st.sampled_from(PIDS), st.sampled_from(TxnResult)),
        st.tuples(st.just(Replica.truncate), st.integers(0, 4)),
        st.tuples(st.just(Replica.retain), st.integers(0, 9)),
        st.tuples(st.just(Replica.crash)),
    ),
    max_size=25,
)


@settings(max_examples=150)
@given(STEPS)
def test_the_recovered_state_equals_a_replay_of_all_batches(steps: list[Any]) -> None:
    replica = Replica()
    for step, *arguments in steps:
        if step is Replica.send:
            pid, transactional = arguments
            replica.send(pid, transactional=transactional)
        else:
            step(replica, *arguments)
        assert replica.log.producers() == replica.fold()
        # A running replica differs from a rebuilt one only in the batches that it remembers.
        assert replica.producers.with_newest_batches() == replica.fold().with_newest_batches()


def test_without_a_snapshot_the_producer_state_is_deleted_with_the_records() -> None:
    replica = Replica()
    for _ in range(4):
        replica.send(7, transactional=False)
    replica.retain(2)
    assert ProducerId(7) in replica.log.producers().producers
    forgetful = replace(replica.log, snapshots=NO_SNAPSHOTS)
    assert ProducerId(7) not in forgetful.producers().producers


# ---------------------------------------------------------------- a cluster


def sent(cluster: InstantCluster, sequence: int) -> Produced:
    data = encode(
        [Record(value=f"v{sequence}".encode(), timestamp_ms=cluster.now_ms)],
        producer_id=ProducerId(7),
        producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(sequence),
    )
    answer = cluster.call(Produce(topic_partition=TP, batches=data), cluster.leader(TP))
    assert isinstance(answer, Produced)
    return answer


@pytest.mark.parametrize("restarts", [False, True])
def test_a_retry_of_a_deleted_record_is_a_duplicate(
    start_cluster: StartCluster, *, restarts: bool
) -> None:
    cluster = start_cluster()
    cluster.create("orders", log_config=LogConfig(segment_bytes=100, retention_ms=10_000))
    assert [sent(cluster, number).base_offset for number in range(3)] == [0, 1, 2]
    cluster.pass_time(20_000)
    if restarts:
        cluster.restart(1)
        cluster.pass_time(20_000)
    assert cluster.nodes[1].replicas[TP].log.log_start == 3
    assert sent(cluster, 2).base_offset == 2  # KIP-360: where it was, though it is no more
    assert sent(cluster, 4).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert sent(cluster, 3).base_offset == 3


def test_bug_producers_go_with_records_makes_a_retry_a_second_record(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(bugs=frozenset({Bug.PRODUCERS_GO_WITH_RECORDS}))
    cluster.create("orders", log_config=LogConfig(segment_bytes=100, retention_ms=10_000))
    assert [sent(cluster, number).base_offset for number in range(3)] == [0, 1, 2]
    cluster.pass_time(5_000)
    assert sent(cluster, 2).base_offset == 2
    cluster.pass_time(10_000)
    assert sent(cluster, 2).base_offset == 3


def test_after_a_restart_the_newest_batch_and_later_ones_are_remembered(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster()
    cluster.create("orders", log_config=LogConfig(segment_bytes=200))  # two batches
    assert [sent(cluster, number).base_offset for number in range(5)] == [0, 1, 2, 3, 4]
    assert sent(cluster, 1).base_offset == 1
    cluster.restart(1)
    cluster.pass_time(20_000)
    snapshots = [kept.offset for kept in cluster.nodes[1].replicas[TP].log.snapshots]
    assert snapshots == [2, 4]
    assert sent(cluster, 3).base_offset == 3
    assert sent(cluster, 2).error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producer_state_of_records_deleted_inside_a_segment_lasts_until_a_restart(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster()
    cluster.create("orders")
    assert sent(cluster, 0).base_offset == 0
    assert cluster.call(DeleteRecords(topic_partition=TP)).low_watermark == 1
    assert sent(cluster, 0).base_offset == 0
    cluster.pass_time(10_000)  # the log start is checkpointed
    cluster.restart(1)
    cluster.pass_time(20_000)
    # Kafka too replays from the log start, so the producer state is lost.
    assert sent(cluster, 0).base_offset == 1


def test_an_expired_producer_is_forgotten_and_its_retry_is_written_again(
    start_cluster: StartCluster,
) -> None:
    broker_settings = BrokerSettings(retention_check_ms=1_000, producer_expiration_ms=60_000)
    cluster = start_cluster(brokers=3, broker_settings=broker_settings)
    cluster.create("orders")
    assert sent(cluster, 0).base_offset == 0
    cluster.pass_time(58_000)
    assert sent(cluster, 0).base_offset == 0
    cluster.pass_time(5_000)
    known = [cluster.nodes[number].replicas[TP].producers.producers for number in (1, 2, 3)]
    assert known == [{}, {}, {}]
    assert sent(cluster, 0).base_offset == 1


def test_a_producer_with_an_open_transaction_does_not_expire() -> None:
    replica = Replica()
    replica.send(7, transactional=True)
    replica.send(8, transactional=False)
    assert replica.producers.unexpired(100, 100).producers.keys() == {7}
    replica.end(7, TxnResult.COMMIT)
    assert replica.producers.unexpired(100, 100).producers == {}
    assert replica.producers.unexpired(99, 100) is replica.producers


def test_a_new_snapshot_replaces_the_one_at_its_offset_and_no_other() -> None:
    """Kafka: ProducerStateManager.takeSnapshot."""
    log, producers = PartitionLog(), ProducerStates()
    states: list[ProducerStates] = []
    for sequence in range(2):
        data = encode(
            [Record(value=b"v")],
            base_offset=log.end_offset,
            leader_epoch=LeaderEpoch(0),
            producer_id=ProducerId(7),
            producer_epoch=ProducerEpoch(0),
            base_sequence=Sequence(sequence),
        )
        log = log.append(Batch.of(data))
        producers = producers.after(Batch.of(data))
        log = log.with_snapshot(ProducerStates()).with_snapshot(producers)
        states.append(producers.with_newest_batches())
    assert [(kept.offset, kept.producers) for kept in log.snapshots] == [
        (1, states[0]),
        (2, states[1]),
    ]
    assert PartitionLog().with_snapshot(producers).snapshots == NO_SNAPSHOTS
