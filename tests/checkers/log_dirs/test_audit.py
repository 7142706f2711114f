"""The audit of log files agrees with the literal definitions on files of any content."""

from __future__ import annotations

import random
import shutil
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.columnar.rows import as_rows
from checkers.log_dirs.audit import KEPT, Audit, audit
from checkers.log_dirs.coordinator import coordinated
from checkers.log_dirs.folders import log_dirs
from model.faults import UnknownName
from properties.log_audit.catalogue import CHECKS
from properties.log_audit.log import (
    Aborted,
    Batch,
    Fragment,
    LogMetadata,
    Logs,
    ProducerState,
    Record,
    ReplicaLog,
    Snapshot,
)
from properties.log_audit.notation import logs, segment
from tests.checkers.log_dirs import plain, writing

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"


def brokers(story: str) -> list[Path]:
    return [KAFKA / story / f"broker-{number}" for number in (1, 2, 3)]


KILLED, STOPPED = brokers("log_dirs_killed"), brokers("log_dirs_stopped")


def assert_literal(found: Audit, folders: Sequence[Path]) -> None:
    """Asserts that each check and its literal definition have the same rows and observations."""
    dirs = log_dirs(folders)
    read = plain.logs(dirs, coordinated(dirs))
    assert found.batches == sum(len(log.batches) for log in read.replicas)
    for decision in found.decisions:
        check = decision.check
        if found.batches:
            assert (check.id, as_rows(decision.rows, check.row)) == (check.id, check.find(read))
            assert (check.id, decision.observations) == (check.id, check.observed(read))
        else:
            assert decision.verdict == "undecided"


def violated(found: Audit) -> list[str]:
    return [decision.check.id for decision in found.decisions if decision.count]


# ---------------------------------------------------------------- generated logs

often = [True] + [False] * 7


@st.composite
def batches(draw: st.DrawFn) -> tuple[tuple[Batch, bool], ...]:
    """Draws batches of a few producers, mostly in order; some of them begin a new segment."""
    made: list[tuple[Batch, bool]] = []
    at, epoch = draw(st.sampled_from([0, 0, 5])), 0
    sequences: dict[tuple[int, int], int] = {}
    for _ in range(draw(st.integers(0, 9))):
        at = max(0, at + draw(st.sampled_from([0] * 9 + [1, 2, -1, -2])))
        epoch = max(0, epoch + draw(st.sampled_from([0] * 6 + [1, 2, -1])))
        kind = draw(st.sampled_from(["plain", "data", "data", "data", "marker", "marker"]))
        length = draw(st.sampled_from([1, 1, 2, 3])) if kind != "marker" else 1
        producer = draw(st.integers(7, 8)), draw(st.sampled_from([0, 0, 0, 0, 1]))
        expected = sequences.get(producer, 0)
        sequence = expected + draw(st.sampled_from([0] * 8 + [1, -1, -2, 3]))
        sequences[producer] = expected + length * (kind == "data")
        bumped = kind == "marker" and draw(st.booleans())
        offsets = range(at, at + length)
        kept = [o for o in offsets if not draw(st.sampled_from(often))] if length > 1 else offsets
        fault = draw(st.sampled_from(["", *[""] * 14, "checksum", "records", "old"]))
        made.append(
            (
                Batch(
                    segment="",
                    position=0,
                    size=0,
                    base_offset=at,
                    last_offset=at if fault == "old" else at + length - 1,
                    leader_epoch=epoch,
                    fault=fault,  # type: ignore[arg-type]
                    max_timestamp_ms=draw(st.sampled_from([0, 0, 0, 16 * 60_000])),
                    producer_id=-1 if kind == "plain" else producer[0],
                    producer_epoch=-1 if kind == "plain" else producer[1] + bumped,
                    base_sequence=max(0, sequence) if kind == "data" else -1,
                    transactional=kind == "marker" or draw(st.booleans()),
                    control=kind == "marker",
                    marker=draw(st.sampled_from(["abort", "commit"])) if kind == "marker" else "",
                    coordinator_epoch=draw(st.sampled_from([1, 1, 1, 2])),
                    records=tuple(Record(offset=o, content="x") for o in kept),
                ),
                draw(st.sampled_from(often)),
            )
        )
        at += length
    return tuple(made)


@st.composite
def replica_logs(
    draw: st.DrawFn, name: str, partition: str, of: tuple[tuple[Batch, bool], ...]
) -> ReplicaLog:
    """Draws a replica that has most of the batches in `of`."""
    has: list[tuple[Batch, bool]] = []
    for batch, begins in of[draw(st.sampled_from([0, 0, 0, 1, 2])) :]:
        if draw(st.sampled_from([*[True] * 15, False])):
            content = draw(st.sampled_from([*["x"] * 15, "y"]))
            records = tuple(Record(offset=r.offset, content=content) for r in batch.records)
            has.append((replace(batch, records=records), begins))
    segments: list[str] = []
    placed: list[Batch] = []
    for batch, begins in has:
        name_of = segment(batch.base_offset)
        if not segments or (begins and name_of > segments[-1]):
            segments.append(name_of)
        placed.append(replace(batch, segment=segments[-1]))
    segments = segments or [segment(draw(st.integers(0, 3)))]
    ends = draw(st.sampled_from([None, None, None, "torn", "junk"]))
    at = draw(st.sampled_from(segments))
    fragment = Fragment(segment=at, position=0, size=40, offset=9, torn=ends == "torn")
    aborts = [(b.producer_id, b.base_offset) for b in placed if b.marker == "abort"]
    entry = st.builds(
        lambda at, marker, first: Aborted(
            segment=at, producer_id=marker[0], first_offset=first, last_offset=marker[1]
        ),
        st.sampled_from(segments),
        st.sampled_from([*aborts, *aborts, (7, 3), (8, 4)]),
        st.integers(0, 5),
    )
    epoch = st.tuples(st.integers(0, 3), st.integers(0, 9))
    producer = st.builds(
        ProducerState,
        producer_id=st.integers(7, 9),
        producer_epoch=st.sampled_from([0, 0, 1]),
        last_sequence=st.integers(-1, 3),
        last_offset=st.integers(-1, 9),
        coordinator_epoch=st.sampled_from([-1, 1]),
        first_offset=st.integers(-1, 9),
    )
    offset = placed[draw(st.integers(0, len(placed) - 1))].last_offset + 1 if placed else 3
    snapshot = st.builds(
        Snapshot, offset=st.just(offset), producers=st.lists(producer, max_size=3).map(tuple)
    )
    return ReplicaLog(
        metadata=LogMetadata(
            replica=name,
            partition=partition,
            segments=tuple(segments),
            high_watermark=draw(st.none() | st.integers(0, 20)),
            cleaned_to=draw(st.sampled_from([0, 0, 4])),
            leader_epochs=draw(st.none() | st.lists(epoch, max_size=3).map(tuple)),
            aborted=draw(st.none() | st.lists(entry, max_size=3).map(tuple)),
            snapshot=draw(st.none() | snapshot),
        ),
        batches=tuple(placed),
        fragments=(fragment,) if ends else (),
    )


@st.composite
def several_logs(draw: st.DrawFn) -> Logs:
    """Draws one or two topic partitions with one to three replicas each."""
    found: list[ReplicaLog] = []
    stopped = draw(st.booleans())
    for partition in ("t-0", "t-1")[: draw(st.integers(1, 2))]:
        of = draw(batches())
        for name in "ABC"[: draw(st.integers(1, 3))]:
            log = draw(replica_logs(name, partition, of))
            found.append(replace(log, metadata=replace(log.metadata, stopped=stopped)))
    return Logs(replicas=tuple(found))


@settings(deadline=None, max_examples=40)
@given(several_logs(), st.randoms(use_true_random=False), st.booleans())
def test_kernels_agree_with_the_literal_definitions(
    result: Logs, random: random.Random, flipped: bool
) -> None:
    with tempfile.TemporaryDirectory() as base:
        folders = writing.write(result, Path(base), writing.COMPRESSIONS)
        if flipped:
            flip(random.choice(sorted(Path(base).rglob("*.log"))), random)
        assert_literal(audit(folders), folders)


def flip(file: Path, random: random.Random) -> None:
    data = bytearray(file.read_bytes())
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        file.write_bytes(data)


# ---------------------------------------------------------------- what Apache Kafka left behind


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
    """Returns a batch with the abort marker that a coordinator writes to end a transaction."""
    key = struct.pack(">hh", 0, len(transactional_id)) + transactional_id.encode()
    value = struct.pack(">hqhibiqq", 0, producer_id, 1, 60_000, 5, 0, 0, 0)
    head = plain.HEADER.pack(at, 0, 4, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    body = writing.record(0, key=key, value=value)
    length = struct.pack(">i", plain.SMALLEST + len(body))
    return writing.signed(head[:8] + length + head[12:] + body)


# ---------------------------------------------------------------- verdicts


def test_an_unknown_check_is_an_error() -> None:
    with pytest.raises(UnknownName, match="offset-gap"):
        audit(STOPPED, checks=("offset-gaps",))
    result = audit(STOPPED, checks=("offset-gap", "checksum"))
    assert [decision.check.id for decision in result.decisions] == ["checksum", "offset-gap"]


def test_without_a_batch_nothing_is_decided(tmp_path: Path) -> None:
    result = audit(writing.write(logs("A t-0 hw=0\nB t-0 hw=0"), tmp_path))
    assert (result.verdict, result.exit_code) == ("nothing checked", 3)
    assert {decision.verdict for decision in result.decisions} == {"undecided"}


def test_an_unread_batch_is_undecided(tmp_path: Path) -> None:
    result = audit(writing.write(logs("A t-0\n0 bad old\n1 bad old\n2 e0"), tmp_path))
    assert (result.verdict, result.exit_code) == ("undecided", 3)
    assert [(d.check.id, d.verdict, d.reason) for d in result.decisions if d.count] == [
        ("old-format", "undecided", "2 places not audited")
    ]


def test_kept_rows_are_capped_and_all_rows_are_counted(tmp_path: Path) -> None:
    result = "\n".join(["A t-0", *(f"{number} e0 bad records" for number in range(40))])
    decision = audit(writing.write(logs(result), tmp_path)).decisions[3]
    assert (decision.count, len(decision.first), decision.rows.num_rows) == (40, KEPT, 40)
    assert [row.offset for row in decision.first] == list(range(KEPT))


def test_replicas_compacted_differently_are_identical(tmp_path: Path) -> None:
    """Compaction changes the checksums of batches, so the audit compares their records."""
    result = """
        A t-0 hw=8
        0-4 e0 has 1,4
        5-7 e0 {of_a}
        B t-0 hw=8
        0-4 e0
        5-7 e0 has 7
    """
    same = audit(writing.write(logs(result.format(of_a="")), tmp_path / "same", [4, 1]))
    assert violated(same) == []
    assert same.decisions[9].observations == 3
    other = audit(writing.write(logs(result.format(of_a="=y")), tmp_path / "other", [4, 1]))
    (row,) = other.decisions[9].first
    assert (row.offset, row.offsets) == (7, 1)


def test_a_transaction_with_both_markers_is_split(tmp_path: Path) -> None:
    result = """
        A t-0
        0 p7/0 s0 txn
        1 p7/1 {zero}
        2 p7/1 s0 txn
        3 p7/2 commit
        B t-0
        0 p7/0 s0 txn
        1 p7/1 {zero}
        A t-1
        0 p7/0 s0 txn
        1 p7/1 {one}
        A t-2
        0 p8/0 s0 txn
        1 p8/0 abort
        2 p8/0 s1 txn
        3 p8/0 commit
    """
    for zero, one, found in (
        ("commit", "commit", 0),
        ("abort", "commit", 1),
        ("commit", "abort", 1),
    ):
        folders = writing.write(logs(result.format(zero=zero, one=one)), tmp_path / zero / one)
        said = audit(folders)
        assert_literal(said, folders)
        decision = next(d for d in said.decisions if d.check.id == "split-transaction")
        assert (decision.count, decision.observations) == (found, 4)
