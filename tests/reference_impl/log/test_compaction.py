"""Compaction keeps the last record of each key, so a reader still finds the latest values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import (
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.log import transaction_marker
from reference_impl.log.compaction import compacted
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.coordinator_records import encoded
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import (
    decode,
    encode,
    filter_records,
    header,
    stamped,
)
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.partition.follower import Follower
from reference_impl.partition.upkeep import compact
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.coordinators import TRANSACTION_STATE
from reference_impl.protocol.groups import CommittedOffset
from reference_impl.protocol.messages import ErrorCode, Fetch, InitProducerId, NodeId
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig
from reference_impl.protocol.topic_id import topic_id
from reference_impl.protocol.transactions import FindCoordinator, TxnResult
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TransactionMetadata
from tests.reference_impl.contexts import BROKER_1

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
TP = TopicPartition("orders", 0)
ALWAYS = LogConfig(
    cleanup_policy=CleanupPolicy.COMPACT,
    segment_bytes=400,
    min_cleanable_dirty_ratio=0,
    delete_retention_ms=100,
)
KEYS = (b"a", b"b", b"c")


def log_of(*data: bytes) -> tuple[PartitionLog, ProducerStates]:
    log, producers = PartitionLog(), ProducerStates()
    for each in data:
        batch = Batch.of(stamped(each, base_offset=log.end_offset, leader_epoch=LeaderEpoch(0)))
        log = log.append(batch, before=producers, config=ALWAYS)
        producers = producers.after(batch)
    return log.with_high_watermark(log.end_offset), producers


def clean(log: PartitionLog, producers: ProducerStates, now_ms: int = 0) -> PartitionLog:
    transactions = producers.transactions
    stable = transactions.last_stable_offset(log.high_watermark)
    return compacted(log, transactions.aborted, ALWAYS, stable=stable, now_ms=now_ms)


def keyed(*pairs: tuple[bytes, bytes | None], pid: int = -1) -> bytes:
    return encode(
        [Record(key=key, value=value) for key, value in pairs],
        producer_id=ProducerId(pid),
        producer_epoch=ProducerEpoch(0 if pid >= 0 else -1),
        transactional=pid >= 0,
    )


def marker(pid: int, result: TxnResult) -> bytes:
    return transaction_marker.encoded(
        Marker(result, 0),
        producer_id=ProducerId(pid),
        producer_epoch=ProducerEpoch(0),
        timestamp_ms=0,
    )


def table(log: PartitionLog, end: Offset) -> dict[bytes | None, bytes]:
    """Returns the latest value of each key below the offset `end`, for a read_committed reader."""
    ended = {
        (batch.header.producer_id, batch.header.base_offset): transaction_marker.read(batch.data)
        for batch in log.batches()
        if batch.header.is_control
    }
    values: dict[bytes | None, bytes] = {}
    for batch in log.batches():
        head = batch.header
        if head.is_control or head.next_offset > end:
            continue
        if head.is_transactional:
            behind = [
                (offset, result)
                for (pid, offset), result in ended.items()
                if pid == head.producer_id and offset > head.base_offset
            ]
            if not behind or min(behind)[1].result is TxnResult.ABORT:
                continue
        for _, record in decode(batch.data):
            values.pop(record.key, None)
            if record.value is not None:
                values[record.key] = record.value
    return values


# ---------------------------------------------------------------- the log


def timed(*times_ms: int) -> PartitionLog:
    """Returns a log of one key: a closed segment for each timestamp, and an open segment."""
    log = PartitionLog()
    for time_ms in (*times_ms, 0):
        data = encode(
            [Record(key=b"a", value=b"v", timestamp_ms=time_ms)], base_offset=log.end_offset
        )
        log = log.append(Batch.of(data), config=LogConfig(segment_bytes=1))
    return log.with_high_watermark(log.end_offset)


def offsets_left(log: PartitionLog, config: LogConfig, now_ms: int) -> list[int]:
    log = compacted(log, (), config, stable=log.end_offset, now_ms=now_ms)
    return [batch.header.base_offset for batch in log.batches()]


def test_records_younger_than_the_minimal_lag_are_not_compacted() -> None:
    """KIP-58: min.compaction.lag.ms. Compaction ends before the first segment with a younger
    record.
    """
    log = timed(10, 20, 30, 5)
    config = replace(ALWAYS, min_compaction_lag_ms=10)
    assert offsets_left(log, config, now_ms=29) == [0, 1, 2, 3, 4]  # one record has no other
    assert offsets_left(log, config, now_ms=30) == [1, 2, 3, 4]
    assert offsets_left(log, config, now_ms=40) == [3, 4]
    assert offsets_left(log, ALWAYS, now_ms=0) == [3, 4]


def test_compaction_is_due_when_a_record_is_older_than_the_maximal_lag() -> None:
    """KIP-354: max.compaction.lag.ms counts even if the dirty part is too small to be compacted."""
    log = timed(10, 20)
    never = replace(ALWAYS, min_cleanable_dirty_ratio=1)
    config = replace(never, max_compaction_lag_ms=50)
    assert offsets_left(log, config, now_ms=60) == [0, 1, 2]
    assert offsets_left(log, config, now_ms=61) == [1, 2]
    assert offsets_left(log, never, now_ms=10**9) == [0, 1, 2]
    patient = replace(config, min_compaction_lag_ms=60)
    assert offsets_left(log, patient, now_ms=70) == [0, 1, 2]


@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.binary(max_size=3)), min_size=1, max_size=6),
    st.sets(st.integers(0, 5)),
    st.one_of(st.none(), st.integers(0, 10**12)),
    st.sampled_from(["none", "gzip", "zstd"]),
)
def test_a_filtered_batch_keeps_the_offsets_of_its_records(
    pairs: list[tuple[bytes, bytes]], numbers: set[int], horizon_ms: int | None, packed: Any
) -> None:
    records = [Record(key=key, value=value, timestamp_ms=7) for key, value in pairs]
    batch = encode(records, base_offset=Offset(40), compression=packed)
    kept = [pair for number, pair in enumerate(decode(batch)) if number in numbers]
    thin = filter_records(batch, kept, horizon_ms)
    assert list(decode(thin)) == kept
    before, after = header(batch), header(thin)
    assert (after.base_offset, after.last_offset) == (before.base_offset, before.last_offset)
    assert (after.max_timestamp_ms, after.delete_horizon_ms) == (7, horizon_ms)


BATCHES = st.lists(
    st.one_of(
        st.builds(
            lambda pid, pairs: keyed(*pairs, pid=pid),
            st.sampled_from([-1, -1, 7, 8]),
            st.lists(
                st.tuples(
                    st.sampled_from(KEYS), st.one_of(st.none(), st.binary(min_size=1, max_size=9))
                ),
                min_size=1,
                max_size=3,
            ),
        ),
        st.builds(marker, st.sampled_from([7, 8]), st.sampled_from(TxnResult)),
    ),
    max_size=30,
)


@given(BATCHES, st.integers(0, 60), st.lists(st.integers(0, 150), max_size=3))
def test_compaction_does_not_change_the_latest_values(
    data: list[bytes], high_watermark: int, pauses_ms: list[int]
) -> None:
    log, producers = log_of(*data)
    log = replace(log, high_watermark=min(Offset(high_watermark), log.end_offset))
    stable = producers.transactions.last_stable_offset(log.high_watermark)
    before, now_ms = log, 0
    for pause_ms in (0, *pauses_ms):
        now_ms += pause_ms
        log = clean(log, producers, now_ms)
    for end in (stable, log.end_offset):
        assert table(log, end) == table(before, end)
    # No batch above the last stable offset changes, and no record gets another offset.
    assert list(log.batches(stable)) == list(before.batches(stable))
    kept = [pair for b in log.batches() for pair in decode(b.data)]
    assert set(kept) <= {pair for b in before.batches() for pair in decode(b.data)}
    assert [offset for offset, _ in kept] == sorted({offset for offset, _ in kept})


@given(BATCHES)
def test_the_compacted_part_has_one_record_per_key(data: list[bytes]) -> None:
    log, producers = log_of(*data)
    log = clean(log, producers)
    clean_part = [b for b in log.batches() if b.header.next_offset <= log.cleaned]
    keys = [r.key for b in clean_part if not b.header.is_control for _, r in decode(b.data)]
    assert len(keys) == len(set(keys))


@given(BATCHES)
def test_a_log_with_gaps_is_replicated_unchanged(data: list[bytes]) -> None:
    log, producers = log_of(*data)
    log = clean(log, producers)
    copy = PartitionLog()
    while copy.end_offset < log.end_offset:
        found = log.read(copy.end_offset, below=log.end_offset, max_bytes=300)
        assert found
        for each in batches(found):
            copy = copy.append(Batch.of(each))
    assert list(copy.batches()) == list(log.batches())
    assert (copy.last_epoch, copy.end_offset) == (log.last_epoch, log.end_offset)


FILLER = [keyed((b"z", b"-" * 200)), keyed((b"z", b"+" * 200)), keyed((b"z", b"=" * 200))]


def test_a_tombstone_stays_for_delete_retention_ms() -> None:
    log, producers = log_of(keyed((b"a", b"1")), keyed((b"a", None), (b"b", b"2")), *FILLER)

    def records(log: PartitionLog) -> Mapping[bytes | None, bytes | None]:
        return {
            record.key: record.value
            for batch in log.batches()
            for _, record in decode(batch.data)
            if record.key != b"z"
        }

    met = clean(log, producers, now_ms=1_000)
    assert records(met) == {b"a": None, b"b": b"2"}
    assert next(met.batches()).header.delete_horizon_ms == 1_100
    # A second cleaning changes nothing: no record is dirty.
    assert clean(met, producers, now_ms=5_000) is met
    for now_ms, left in ((1_099, {b"a": None, b"b": b"2"}), (1_100, {b"b": b"2"})):
        dirty = replace(met, cleaned=Offset(0))
        assert records(clean(dirty, producers, now_ms)) == left


def test_only_a_batch_with_a_tombstone_waits_for_its_deletion() -> None:
    """Only a batch with a tombstone gets a delete horizon: the time from which on the tombstone may
    be deleted. Kafka: RecordBatch.deleteHorizonMs, MemoryRecords.filterTo.
    """
    log, producers = log_of(keyed((b"a", None)), keyed((b"b", b"1"), (b"z", b"")), *FILLER)
    of_tombstone, of_value, *_ = clean(log, producers, now_ms=1_000).batches()
    assert of_tombstone.header.delete_horizon_ms == 1_100
    assert of_value.header.delete_horizon_ms is None
    dirty = replace(clean(log, producers, now_ms=1_000), cleaned=Offset(0))
    first, *_ = clean(dirty, producers, now_ms=1_100).batches()
    assert [record.key for _, record in decode(first.data)] == [b"b"]


def test_a_log_is_compacted_when_enough_of_it_is_dirty() -> None:
    log, _ = log_of(*[keyed((b"a", bytes([number]) * 300)) for number in range(9)])
    half = replace(log, cleaned=Offset(4))  # of eight closed segments four are dirty
    lazy = replace(ALWAYS, min_cleanable_dirty_ratio=0.5)
    assert compacted(half, (), lazy, stable=Offset(9), now_ms=0) is half
    assert compacted(log, (), lazy, stable=Offset(9), now_ms=0).cleaned == 8
    assert compacted(log, (), LogConfig(), stable=Offset(9), now_ms=0) is log


# ---------------------------------------------------------------- what coordinators make of it


def context(now_ms: int = 0, bugs: Bugs = NO_BUGS) -> Context:
    return replace(BROKER_1, now_ms=now_ms, bugs=bugs)


COMMITS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("gh"), st.integers(0, 1), st.integers(0, 99), st.just(-1)),
        st.tuples(st.sampled_from("gh"), st.integers(0, 1), st.integers(0, 99), st.just(7)),
        st.sampled_from(TxnResult),
    ),
    max_size=25,
)


@given(COMMITS)
def test_a_group_coordinator_reads_the_same_offsets(steps: list[Any]) -> None:
    data: list[bytes] = []
    for step in steps:
        if isinstance(step, TxnResult):
            data.append(marker(7, step))
            continue
        group, index, offset, pid = step
        committed = CommittedOffset(offset=Offset(offset))
        entry = group_offsets.entry(group, TopicPartition("in", index), committed, now_ms=0)
        data.append(keyed(encoded(entry, topic_id), pid=pid))
    log, producers = log_of(*data)

    def read(log: PartitionLog) -> tuple[Any, Any]:
        offsets = GroupOffsets().caught_up(log, NO_BUGS)
        return offsets.committed, {pid: kept for pid, kept in offsets.pending.items() if kept}

    assert read(clean(log, producers)) == read(log)


@given(st.lists(st.tuples(st.sampled_from("tuv"), st.integers(0, 9)), max_size=25))
def test_a_transaction_coordinator_reads_the_same_transactions(changes: list[Any]) -> None:
    data: list[bytes] = []
    for transactional_id, epoch in changes:
        transaction = TransactionMetadata(
            transactional_id=transactional_id,
            producer_id=ProducerId(7),
            timeout_ms=60_000,
            producer_epoch=ProducerEpoch(epoch),
        )
        data.append(keyed(encoded(transaction.entry(), topic_id)))
    log, producers = log_of(*data)

    def read(log: PartitionLog) -> Any:
        begun, _ = TransactionCoordinator.load(TP, LeaderEpoch(0), log, context())
        return begun.transactions

    assert read(clean(log, producers)) == read(log)


def test_a_new_coordinator_loads_a_compacted_log(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    request = InitProducerId(transactional_id="t", timeout_ms=60_000)
    for number in range(140):
        answer = cluster.call(request, cluster.coordinator("t", transactional=True))
        assert (answer.error, answer.producer_epoch) == (ErrorCode.NONE, number)
    cluster.pass_time(2_000)
    place = cluster.nodes[NodeId(1)].coordinators.partition_for(TRANSACTION_STATE, "t")
    logs = [cluster.nodes[NodeId(number)].replicas[place].log for number in (1, 2, 3)]
    assert {(log.end_offset, len(list(log.batches()))) for log in logs} == {(140, 13)}
    fetch = Fetch(topic_partition=place, fetch_offset=Offset(5))
    (first, *_) = batches(cluster.call(fetch, cluster.leader(place)).batches)
    assert header(first).base_offset == 127
    cluster.nodes.pop(NodeId(cluster.leader(place)))
    cluster.pass_time(20_000)
    living = next(number for number in (1, 2, 3) if NodeId(number) in cluster.nodes)
    found = cluster.call(FindCoordinator(key="t", is_transactional=True), living)
    assert cluster.call(request, found.broker_id).producer_epoch == 140


@pytest.mark.parametrize("bugs", [NO_BUGS, frozenset({Bug.COMPACTS_UNCOMMITTED})])
def test_bug_compacts_uncommitted_loses_a_committed_value(bugs: Bugs) -> None:
    log, producers = log_of(keyed((b"a", b"1")), keyed((b"a", b"2")), *FILLER)
    log = replace(log, high_watermark=Offset(1))  # the second value is not replicated
    state = PartitionState(
        replicas=(BrokerId(1), BrokerId(2)),
        isr=(BrokerId(1), BrokerId(2)),
        leader=BrokerId(2),
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(0),
        log_config=ALWAYS,
    )
    follower = Follower(topic_partition=TP, log=log, producers=producers, state=state)
    after = compact(follower, context(bugs=bugs)).log.truncate_to(Offset(1))
    assert table(after, Offset(1)) == ({b"a": b"1"} if bugs == NO_BUGS else {})
