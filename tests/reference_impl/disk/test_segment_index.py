"""The index files of segments have the same bytes as Kafka 4.3's, and agree with the segments."""

from __future__ import annotations

import os
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId
from reference_impl.disk import log_folder, segment_index
from reference_impl.disk.recovery import NOTHING, Checkpointed, recovered
from reference_impl.disk.segment_index import OFFSETS, TIMES, TRANSACTIONS
from reference_impl.log import transaction_marker
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, stamped
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.protocol.topic_config import LogConfig
from reference_impl.protocol.transactions import TxnResult

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka" / "log_dirs_stopped" / "broker-3"
EVERYTHING = Checkpointed(high_watermark=Offset(2**31))
ONE, TWO = ProducerId(7), ProducerId(8)


@pytest.mark.parametrize("name", ["orders-0", "payments-0", "__transaction_state-0"])
def test_the_indexes_of_a_log_of_kafka_are_built_with_the_same_bytes(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for file in (KAFKA / name).iterdir():
        if file.suffix not in segment_index.SUFFIXES:
            (folder / file.name).write_bytes(file.read_bytes())
    log = recovered(folder, EVERYTHING, note=print)
    log_folder.close(folder, log)
    assert indexes(folder) == indexes(KAFKA / name)


def indexes(folder: Path) -> dict[str, bytes]:
    """Returns the content of each index file in a log folder; empty files are left out."""
    files = [file for suffix in segment_index.SUFFIXES for file in folder.glob(f"*{suffix}")]
    return {file.name: data for file in sorted(files) if (data := file.read_bytes())}


def batch(offset: int, size: int = 1, timestamp_ms: int = 0, **of: Any) -> Batch:
    record = Record(value=b"v" * size, timestamp_ms=timestamp_ms)
    return Batch.of(encode([record], base_offset=Offset(offset), leader_epoch=LeaderEpoch(0), **of))


def sent(offset: int, producer_id: ProducerId) -> Batch:
    return batch(
        offset, producer_id=producer_id, producer_epoch=ProducerEpoch(0), transactional=True
    )


def ended(offset: int, producer_id: ProducerId, result: TxnResult) -> Batch:
    data = transaction_marker.encoded(
        Marker(result, 0), producer_id=producer_id, producer_epoch=ProducerEpoch(0), timestamp_ms=0
    )
    return Batch.of(stamped(data, base_offset=Offset(offset), leader_epoch=LeaderEpoch(0)))


def log_of(*batches: Batch, segment_bytes: int = 10**6) -> PartitionLog:
    log, producers = PartitionLog(), ProducerStates()
    for one in batches:
        log = log.append(one, before=producers, config=LogConfig(segment_bytes=segment_bytes))
        producers = producers.after_all([one])
    return log


def entries(form: str, data: bytes) -> list[tuple[int, ...]]:
    return [*struct.iter_unpack(form, data)]


def test_an_index_entry_comes_after_each_interval_of_bytes() -> None:
    log = log_of(*(batch(10 + at, 2_000, timestamp_ms=at) for at in range(8)))
    (segment,) = log.segments
    size = segment.size // 8
    written = segment_index.indexes(segment, {})
    positions = entries(">ii", written[OFFSETS])
    assert positions == [(2, 2 * size), (4, 4 * size), (6, 6 * size)], "relative to offset 10"
    times = entries(">qi", written[TIMES])
    assert times == [(2, 2), (4, 4), (6, 6), (7, 7)], "the newest timestamp is the last entry"
    assert written[TRANSACTIONS] == b""


def test_an_aborted_transaction_is_in_the_segment_of_its_marker(tmp_path: Path) -> None:
    log = log_of(
        sent(0, ONE),
        sent(1, TWO),
        ended(2, ONE, TxnResult.ABORT),
        ended(3, TWO, TxnResult.ABORT),
        sent(4, ONE),
        ended(5, ONE, TxnResult.COMMIT),
        segment_bytes=160,
    )
    assert len(log.segments) > 2
    log_folder.create(tmp_path, log)
    log_folder.close(tmp_path, log)
    aborted = [
        (int(file.stem), entry)
        for file in sorted(tmp_path.glob(f"*{TRANSACTIONS}"))
        for entry in entries(">hqqqq", file.read_bytes())
    ]
    assert [entry for _, entry in aborted] == [
        (0, 7, 0, 2, 1),  # version, producer, first offset, marker; producer 8 is open from 1 on
        (0, 8, 1, 3, 4),
    ]
    bases = [segment.base_offset for segment in log.segments]
    homes = [max(base for base in bases if base <= entry[3]) for _, entry in aborted]
    assert [base for base, _ in aborted] == homes


@given(
    st.lists(st.sampled_from(["one", "two", "abort one", "abort two", "commit one", "roll"])),
    st.integers(0, 12),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_open_segment_has_the_aborts_so_far_without_a_clean_stop(
    tmp_path: Path, steps: list[str], kept: int
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    log, producers = PartitionLog(), ProducerStates()
    log_folder.create(folder, log)
    for offset, step in enumerate(steps):
        producer_id = TWO if step.endswith("two") else ONE
        result = TxnResult.ABORT if step.startswith("abort") else TxnResult.COMMIT
        is_marker = " " in step
        new = ended(offset, producer_id, result) if is_marker else sent(offset, producer_id)
        segment_bytes = 1 if step == "roll" else 10**6
        before = log
        log = log.append(new, before=producers, config=LogConfig(segment_bytes=segment_bytes))
        producers = producers.after_all([new])
        log_folder.write(folder, before, log)
        log_folder.index_aborts(folder, before, log, producers.transactions)
    shorter = log.truncate_to(Offset(min(kept, len(steps))))
    assert_aborts(folder, log)
    log_folder.write(folder, log, shorter)
    assert_aborts(folder, shorter)
    recovered(folder, EVERYTHING, note=print)
    assert_aborts(folder, shorter)


def assert_aborts(folder: Path, log: PartitionLog) -> None:
    written = {name: data for name, data in indexes(folder).items() if name.endswith(TRANSACTIONS)}
    whole = folder.with_name(f"{folder.name}-whole")
    whole.mkdir(exist_ok=True)
    for file in whole.iterdir():
        file.unlink()
    log_folder.create(whole, log)
    log_folder.close(whole, log)
    expected = {name: data for name, data in indexes(whole).items() if name.endswith(TRANSACTIONS)}
    assert written == expected


def test_an_append_does_not_write_the_transaction_index_again(tmp_path: Path) -> None:
    log = PartitionLog().truncate_fully_and_start_at(Offset(5))
    log = log.append(sent(5, ONE)).append(ended(6, ONE, TxnResult.ABORT))
    log_folder.create(tmp_path, log)
    (file,) = tmp_path.glob(f"*{TRANSACTIONS}")
    os.utime(file, ns=(0, 0))
    log_folder.write(tmp_path, log, log.append(sent(7, ONE)))
    assert file.stat().st_mtime_ns == 0


def test_closed_segments_have_indexes_and_the_open_one_after_a_clean_stop(tmp_path: Path) -> None:
    log = log_of(*(batch(at, 100) for at in range(6)), segment_bytes=400)
    bases = [segment.base_offset for segment in log.segments]
    first = log_of(batch(0, 100))
    log_folder.create(tmp_path, first)
    log_folder.write(tmp_path, first, log)
    assert with_index(tmp_path) == bases[:-1]
    log_folder.close(tmp_path, log)
    assert with_index(tmp_path) == bases
    again = recovered(tmp_path, EVERYTHING, note=print)
    assert with_index(tmp_path) == bases[:-1], "the open segment will grow"
    shorter = again.truncate_to(Offset(3))
    log_folder.write(tmp_path, again, shorter)
    assert with_index(tmp_path) == [segment.base_offset for segment in shorter.segments][:-1]


def with_index(folder: Path) -> list[int]:
    return sorted(int(file.stem) for file in folder.glob(f"*{OFFSETS}"))


@pytest.mark.parametrize("damage", ["missing", "wrong", "of a lost segment"])
def test_indexes_are_restored_at_a_start(tmp_path: Path, damage: str) -> None:
    log = log_of(*(batch(at, 5_000) for at in range(9)), segment_bytes=16_000)
    log_folder.create(tmp_path, log)
    before = indexes(tmp_path)
    name = min(before)
    match damage:
        case "missing":
            (tmp_path / name).unlink()
        case "wrong":
            (tmp_path / name).write_bytes(bytes(8))
        case _:
            (tmp_path / "00000000000000000099.index").write_bytes(bytes(8))
    assert indexes(tmp_path) != before
    recovered(tmp_path, NOTHING, note=print)
    assert indexes(tmp_path) == before
