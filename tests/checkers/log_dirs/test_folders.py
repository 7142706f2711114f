"""The logs and checkpoint files of a directory are listed; malformed names are errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.log_dirs.coordinator import coordinated
from checkers.log_dirs.folders import UnreadableLogDir, log_dirs
from properties.log_audit.log import Aborted, CoordinatorEntry, LogMetadata
from tests.checkers.log_dirs import plain, writing
from tests.properties.log_audit.notation import logs

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"
KILLED = [KAFKA / "log_dirs_killed" / f"broker-{number}" for number in (1, 2, 3)]

TOLD = """
    A t-0 hw=5 cleaned=2 epochs=0@0,1@3 aborted=7:3-4 snapshot=4:7/0/0/3/-1/3 stopped
    0-2  e0 t60000
    ---
    3    e1 p7/0 s0 txn
    4    e1 p7/0 abort c2
    torn 17
    B t-0
    0-2  e0 has 0,2
    junk 17
    B u-1
    --- 12
"""


def test_written_folders_are_read_back_unchanged(tmp_path: Path) -> None:
    described = logs(TOLD)
    folders = writing.write(described, tmp_path, writing.COMPRESSIONS)
    read = plain.logs(log_dirs(folders))
    assert [log.metadata.replica for log in read.replicas] == [
        str(folders[0]),
        str(folders[1]),
        str(folders[1]),
    ]
    for said, log in zip(described.replicas, read.replicas, strict=True):
        assert log.metadata.segments == said.metadata.segments
        assert log.metadata.high_watermark == said.metadata.high_watermark
        assert log.metadata.cleaned_to == said.metadata.cleaned_to
        assert log.metadata.leader_epochs == said.metadata.leader_epochs
        assert log.metadata.aborted == said.metadata.aborted
        assert log.metadata.snapshot == said.metadata.snapshot
        assert log.metadata.stopped == said.metadata.stopped
        assert [(f.offset, f.size, f.torn) for f in log.fragments] == [
            (f.offset, f.size, f.torn) for f in said.fragments
        ]
        assert [(b.base_offset, b.last_offset, b.leader_epoch, b.marker) for b in log.batches] == [
            (b.base_offset, b.last_offset, b.leader_epoch, b.marker) for b in said.batches
        ]
        assert [len(b.records) for b in log.batches] == [len(b.records) for b in said.batches]


def test_a_partition_may_be_named_alone(tmp_path: Path) -> None:
    _, b = writing.write(logs(TOLD), tmp_path)
    (log,) = log_dirs([b / "u-1"]).logs
    assert log == LogMetadata(
        replica=str(b), partition="u-1", segments=("00000000000000000012.log",), aborted=None
    )


def test_checkpoint_files_of_apache_kafka_are_read() -> None:
    dirs = log_dirs(KILLED)
    assert [one.name for one in dirs.partitions] == [
        "__consumer_offsets-0",
        "__transaction_state-0",
        "orders-0",
        "payments-0",
    ]
    (log,) = (
        log
        for log in dirs.logs
        if log.partition == "payments-0" and log.replica.endswith("broker-2")
    )
    assert log.high_watermark == 39
    assert log.leader_epochs == ((0, 0),)
    assert not log.stopped
    assert log.aborted is not None
    assert log.aborted[-1] == Aborted(
        segment="00000000000000000032.log", producer_id=2003, first_offset=36, last_offset=39
    )


def test_the_states_of_killed_coordinators_of_apache_kafka_are_read() -> None:
    assert coordinated(log_dirs(KILLED)) == (
        CoordinatorEntry(
            transactional_id="one", producer_id=2002, producer_epoch=0, state="CompleteCommit"
        ),
        CoordinatorEntry(
            transactional_id="open",
            producer_id=2004,
            producer_epoch=0,
            state="Ongoing",
            partitions=("payments-0",),
        ),
        CoordinatorEntry(
            transactional_id="two",
            producer_id=2003,
            producer_epoch=2,
            state="PrepareCommit",
            partitions=("payments-0",),
        ),
    )


def test_the_newest_valid_snapshot_is_read(tmp_path: Path) -> None:
    (a,) = writing.write(logs("A t-0 snapshot=4:7/0/0/3/-1/3\n0-9 e0"), tmp_path)
    newest = a / "t-0" / f"{9:020}.snapshot"
    for broken in (b"", bytes(10), (a / "t-0" / f"{4:020}.snapshot").read_bytes()[:-1]):
        newest.write_bytes(broken)
        (log,) = log_dirs([a]).logs
        assert log.snapshot is not None
        assert log.snapshot.offset == 4


# ---------------------------------------------------------------- what is refused


def test_a_missing_folder_or_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnreadableLogDir, match=r"nowhere does not exist; name the log"):
        log_dirs([tmp_path / "nowhere"])
    with pytest.raises(UnreadableLogDir, match="file is not a folder"):
        log_dirs([tmp_path / "file"])


def test_the_error_of_a_folder_without_logs_names_the_fix(tmp_path: Path) -> None:
    (tmp_path / "notes-1").mkdir()
    (tmp_path / "notes-1" / "readme.log").write_text("")
    with pytest.raises(UnreadableLogDir, match="contains no topic partition folder"):
        log_dirs([tmp_path])
    a, b = writing.write(logs(TOLD), tmp_path)
    with pytest.raises(UnreadableLogDir, match=f"file; name {a}, {b}$"):
        log_dirs([tmp_path])


def test_an_unreadable_segment_is_an_error_before_any_is_read(tmp_path: Path) -> None:
    (a,) = writing.write(logs("A t-0\n0 e0\n---\n1 e0"), tmp_path)
    newest = a / "t-0" / f"{1:020}.log"
    newest.unlink()
    newest.symlink_to(tmp_path / "a disk that is not there")
    with pytest.raises(UnreadableLogDir, match=f"{newest} is not readable; check its permissions"):
        log_dirs([a])


def test_a_broker_without_partitions_has_no_logs(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1")
    assert log_dirs([tmp_path]).logs == ()


def test_delete_future_and_stray_folders_are_skipped(tmp_path: Path) -> None:
    (a,) = writing.write(logs("A t-0\n0 e0"), tmp_path)
    (a / "t-0").rename(a / "t-0.6f1c2b-delete")
    (a / "meta.properties").write_text("version=1")
    assert log_dirs([a]).logs == ()


def test_a_folder_named_twice_is_an_error(tmp_path: Path) -> None:
    (a,) = writing.write(logs("A t-0\n0 e0"), tmp_path)
    with pytest.raises(UnreadableLogDir, match="is named twice; name each folder once"):
        log_dirs([a, a / "t-0"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("7\n0\n", "line 1: '7' is no line of a checkpoint"),
        (
            "0\n2\nt 0 5\n",
            "line 2: the count is not 1, the number of lines that follow; the file is cut",
        ),
        ("0\n", "line 2: the count is not 0"),
        ("0\n1\nt 0\n", "line 3: 't 0' is no line of a checkpoint; copy the file again"),
        ("0\n1\nt 0 many\n", "line 3: 't 0 many' is no line of a checkpoint"),
    ],
)
def test_a_malformed_checkpoint_is_an_error(tmp_path: Path, text: str, complaint: str) -> None:
    (a,) = writing.write(logs("A t-0\n0 e0"), tmp_path)
    (a / "replication-offset-checkpoint").write_text(text)
    with pytest.raises(UnreadableLogDir, match=complaint):
        log_dirs([a])
