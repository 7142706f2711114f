"""The audit of log files agrees with the literal definitions on files of any content."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.log_dirs.audit import KEPT, audit
from model.faults import UnknownName
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
from tests.checkers.log_dirs import writing
from tests.checkers.log_dirs.audits import STOPPED, assert_literal, violated
from tests.properties.log_audit.notation import logs, segment

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
    """Draws the log of one replica, which has most of the batches of its partition."""
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
    first = draw(st.sampled_from(["t-0", "t-0", "__consumer_offsets-0"]))
    for partition in (first, "t-1")[: draw(st.integers(1, 2))]:
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
