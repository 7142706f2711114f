"""The audit of logs that Apache Kafka wrote: as they are, and after each kind of damage."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from checkers.log_dirs.audit import Audit, audit
from checkers.log_dirs.folders import log_dirs
from properties.log_audit.catalogue import CHECKS
from properties.log_audit.log import Batch
from tests.checkers.log_dirs import plain, writing
from tests.checkers.log_dirs.audits import KILLED, STOPPED, assert_literal, brokers, violated


@pytest.mark.parametrize(
    ("folders", "found"),
    [(KILLED, ["open-transaction"]), (STOPPED, ["repeated-marker", "open-transaction"])],
)
def test_logs_of_apache_kafka_pass(folders: list[Path], found: list[str]) -> None:
    result = audit(folders)
    assert_literal(result, folders)
    assert (result.verdict, result.exit_code) == ("holds", 0)
    assert violated(result) == found
    assert all(decision.permitted for decision in result.decisions if decision.count)
    assert all(decision.observations for decision in result.decisions)
    (open_one,) = next(d for d in result.decisions if d.check.id == "open-transaction").first
    assert (open_one.transactional_id, open_one.offset, open_one.last_offset) == ("open", 40, 42)
    assert open_one.why == "the coordinator has Ongoing at producer epoch 0"


def test_gaps_that_compaction_left_are_no_violation() -> None:
    folders = brokers("log_dirs_compacted")
    result = audit(folders)
    assert_literal(result, folders)
    assert violated(result) == []
    read = plain.logs(log_dirs(folders))
    states = [log for log in read.replicas if log.metadata.partition == "states-0"]
    assert {log.metadata.cleaned_to for log in states} == {255}
    for log in states:
        assert len(log.contiguous_runs()) > 1
        assert any(batch.compacted for batch in log.batches)


def test_an_unclean_election_of_apache_kafka_is_found() -> None:
    folders = brokers("log_dirs_unclean")
    result = audit(folders)
    assert_literal(result, folders)
    assert violated(result) == ["replica-divergence"]
    assert (result.verdict, result.exit_code) == ("violated", 1)
    rows = next(d for d in result.decisions if d.count).first
    assert [
        (Path(r.replica).name, Path(r.other_replica).name, r.offset, r.offsets) for r in rows
    ] == [
        ("broker-1", "broker-2", 10, 10),
        ("broker-2", "broker-3", 10, 10),
    ]


@pytest.fixture
def kafka(tmp_path: Path) -> list[Path]:
    return [Path(shutil.copytree(one, tmp_path / one.name)) for one in STOPPED]


def newest(folder: Path, partition: str, number: int = -1) -> Path:
    return sorted((folder / partition).glob("*.log"))[number]


def cut(file: Path) -> list[bytes]:
    data = file.read_bytes()
    found = [b for b in plain.read(file.name, data) if isinstance(b, Batch)]
    return [data[b.position : b.position + b.size] for b in found]


def damaged(folders: list[Path], expected: list[str]) -> Audit:
    """Audits damaged log directories; asserts that they violate exactly the checks `expected`."""
    result = audit(folders)
    assert_literal(result, folders)
    assert violated(result) == [c.id for c in CHECKS if c.id in {*expected, *PERMITTED}]
    return result


PERMITTED = ("repeated-marker", "open-transaction")


def test_any_changed_byte_that_the_checksum_covers_is_found(kafka: list[Path]) -> None:
    file = newest(kafka[1], "orders-0", 0)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    result = damaged(kafka, ["checksum"])
    (row,) = result.decisions[2].first
    assert (row.replica, row.partition, row.segment) == (str(kafka[1]), "orders-0", file.name)
    last = cut(file)[-1]
    assert row.position == len(data) - len(last)
    assert (result.verdict, result.exit_code) == ("violated", 1)


def test_a_missing_batch_is_found(kafka: list[Path]) -> None:
    file = newest(kafka[0], "orders-0", 1)
    first, _, *rest = cut(file)
    file.write_bytes(b"".join([first, *rest]))
    (row,) = damaged(kafka, ["offset-gap"]).decisions[6].first
    assert (row.segment, row.position) == (file.name, len(first))


def test_swapped_batches_are_found(kafka: list[Path]) -> None:
    file = newest(kafka[0], "orders-0", 1)
    first, second, *rest = cut(file)
    file.write_bytes(b"".join([second, first, *rest]))
    damaged(kafka, ["offset-order", "offset-gap", "sequence-repeat"])


def test_a_batch_appended_twice_is_found(kafka: list[Path]) -> None:
    file = newest(kafka[2], "orders-0")
    *before, last = cut(file)
    (batch,) = (b for b in plain.read(file.name, last) if isinstance(b, Batch))
    again = (batch.last_offset + 1).to_bytes(8, "big") + last[8:]
    file.write_bytes(b"".join([*before, last, again]))
    damaged(kafka, ["sequence-repeat"])


def test_a_missing_segment_is_found(kafka: list[Path]) -> None:
    newest(kafka[2], "orders-0", 2).unlink()
    damaged(kafka, ["offset-gap"])


@pytest.mark.parametrize(("number", "found"), [(-1, "torn-tail"), (0, "unreadable-bytes")])
def test_a_truncated_file_is_found(kafka: list[Path], number: int, found: str) -> None:
    file = newest(kafka[2], "orders-0", number)
    file.write_bytes(file.read_bytes()[:-5])
    result = damaged(kafka, [found])
    (row,) = next(d for d in result.decisions if d.check.id == found).first
    assert row.position == sum(map(len, cut(file)))


def test_a_torn_tail_of_a_broker_that_died_is_permitted(kafka: list[Path]) -> None:
    file = newest(kafka[2], "orders-0")
    file.write_bytes(file.read_bytes()[:-5])
    (kafka[2] / ".kafka_cleanshutdown").unlink()
    result = damaged(kafka, ["torn-tail"])
    assert (result.verdict, result.exit_code) == ("holds", 0)


def test_a_decreasing_leader_epoch_is_found(kafka: list[Path]) -> None:
    file = newest(kafka[0], "orders-0")
    *before, last = cut(file)
    file.write_bytes(b"".join([*before, last[:12] + bytes(4) + last[16:]]))
    damaged(kafka, ["leader-epoch-order", "leader-epoch-checkpoint", "replica-divergence"])


def test_a_different_record_is_a_violation_only_below_the_high_watermark(kafka: list[Path]) -> None:
    file = newest(kafka[0], "orders-0", 0)
    *before, last = cut(file)
    changed = writing.signed(last[:-2] + bytes([last[-2] ^ 1]) + last[-1:])
    file.write_bytes(b"".join([*before, changed]))
    result = damaged(kafka, ["replica-divergence"])
    rows = next(d for d in result.decisions if d.check.id == "replica-divergence").first
    assert [(Path(r.replica).name, Path(r.other_replica).name, r.offsets) for r in rows] == [
        ("broker-1", "broker-2", 1),
        ("broker-1", "broker-3", 1),
    ]
    mark = kafka[0] / "replication-offset-checkpoint"
    mark.write_text(mark.read_text().replace("orders 0 144", f"orders 0 {rows[0].offset}"))
    damaged(kafka, [])


def test_a_missing_marker_and_a_missing_index_entry_are_found(kafka: list[Path]) -> None:
    for folder in kafka:
        file = newest(folder, "payments-0", 0)
        index = file.with_suffix(".txnindex")
        index.write_bytes(index.read_bytes()[:-34])
    result = damaged(kafka, ["aborted-index"])
    assert {
        r.wrong for r in next(d for d in result.decisions if d.check.id == "aborted-index").first
    } == {"missing"}


def test_a_transaction_missing_at_its_coordinator_hangs(kafka: list[Path]) -> None:
    for folder in kafka:
        file = newest(folder, "__transaction_state-0")
        last = [*plain.read(file.name, file.read_bytes())][-1]
        assert isinstance(last, Batch)
        file.write_bytes(file.read_bytes() + ended("open", 2004, at=last.last_offset + 1))
    result = audit(kafka)
    assert_literal(result, kafka)
    (row,) = next(d for d in result.decisions if d.check.id == "hanging-transaction").first
    assert row.transactional_id == "open"
    assert (
        row.why == "the coordinator has CompleteAbort at producer epoch 1, without this partition"
    )


def ended(transactional_id: str, producer_id: int, *, at: int) -> bytes:
    """Returns the batch with the abort marker of a transaction, as a coordinator writes it."""
    key = struct.pack(">hh", 0, len(transactional_id)) + transactional_id.encode()
    value = struct.pack(">hqhibiqq", 0, producer_id, 1, 60_000, 5, 0, 0, 0)
    head = plain.HEADER.pack(at, 0, 4, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    body = writing.record(0, key=key, value=value)
    length = struct.pack(">i", plain.SMALLEST + len(body))
    return writing.signed(head[:8] + length + head[12:] + body)
