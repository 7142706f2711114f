"""A power loss removes every record that was not flushed, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.systems.apache_kafka.addresses import Addresses
from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.apache_kafka.jars import Jars
from checkers.systems.apache_kafka.power_loss import (
    LEADER_EPOCHS,
    RECOVERY_POINTS,
    Lost,
    flushed_offsets,
    lose_unflushed,
    truncate_at,
)
from checkers.systems.system import Ability, Layout, Unable
from model.vocabulary import Offset
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, header

AT: Final = "2026-11-23T04:10:00,001 [UnifiedLog"


def flush(offset: int, partition: str = "t-0") -> str:
    return (
        f"{AT} partition={partition}, dir=/k/logs] Flushing log up to offset "
        f"{offset} (exclusive) with recovery point {offset}, last flushed: 1, "
        "current time: 2, unflushed: 3\n"
    )


def truncation(offset: int) -> str:
    return f"{AT} partition=t-0, dir=/k/logs] Truncating to offset {offset}\n"


def name(offset: int, suffix: str = "log") -> str:
    return f"{offset:020d}.{suffix}"


def write_log(folder: Path, segments: list[list[int]]) -> None:
    """Writes the log files of a partition, one set of files per inner list (a segment).

    `[[2, 1], [3]]` gives two segments. The first one has a batch of 2 records and a batch of 1.
    """
    folder.mkdir(parents=True)
    offset = 0
    for sizes in segments:
        base, data = offset, b""
        for size in sizes:
            records = [Record(value=b"v%d" % (offset + one)) for one in range(size)]
            data += encode(records, base_offset=Offset(offset))
            offset += size
        (folder / name(base)).write_bytes(data)
        for suffix in ("index", "timeindex", "txnindex"):
            (folder / name(base, suffix)).write_bytes(b"positions")
        (folder / name(base, "snapshot")).write_bytes(b"producers")
    (folder / LEADER_EPOCHS).write_text("0\n3\n0 0\n1 4\n2 6\n")


def offsets(folder: Path) -> list[int]:
    return [
        offset
        for segment in sorted(folder.glob("*.log"))
        for batch in batches(segment.read_bytes())
        for offset in range(header(batch).base_offset, header(batch).next_offset)
    ]


def test_the_log_is_cut_with_all_that_belongs_to_the_lost_records(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    write_log(folder, [[2, 2], [1, 1, 1], [2]])

    assert truncate_at(folder, 5) == Lost(partition="t-0", first=5, last=8)
    assert offsets(folder) == [0, 1, 2, 3, 4]
    assert sorted(one.name for one in folder.iterdir()) == [
        name(0, "index"),
        name(0),
        name(0, "snapshot"),
        name(0, "timeindex"),
        name(0, "txnindex"),
        name(4),  # its indexes are built again
        name(4, "snapshot"),
        LEADER_EPOCHS,
    ]
    assert (folder / LEADER_EPOCHS).read_text() == "0\n2\n0 0\n1 4\n"


def test_a_log_that_was_flushed_to_its_end_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    write_log(folder, [[2, 2], []])
    before = {one.name: one.read_bytes() for one in folder.iterdir()}

    assert truncate_at(folder, 4) is None
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_an_empty_new_segment_goes_with_the_records_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    write_log(folder, [[2, 2], []])

    assert truncate_at(folder, 2) == Lost(partition="t-0", first=2, last=3)
    assert [one.name for one in folder.glob("*.log")] == [name(0)], "else the log would have a gap"


@given(
    segments=st.lists(st.lists(st.integers(1, 3), max_size=4), min_size=1, max_size=4),
    flushed=st.integers(0, 40),
)
def test_exactly_the_batches_that_end_before_the_cut_remain(
    tmp_path_factory: pytest.TempPathFactory, segments: list[list[int]], flushed: int
) -> None:
    folder = tmp_path_factory.mktemp("logs") / "t-0"
    write_log(folder, segments)
    ends, end = [0], 0
    for size in (size for sizes in segments for size in sizes):
        end += size
        ends.append(end)
    kept = max(one for one in ends if one <= flushed)

    lost = truncate_at(folder, flushed)
    assert offsets(folder) == [*range(kept)]
    assert lost == (None if kept == end else Lost(partition="t-0", first=kept, last=end - 1))


@pytest.mark.parametrize(
    ("lines", "checkpoint", "flushed"),
    [
        ([], None, None),
        ([], 3, 3),
        ([flush(4)], None, 4),
        ([flush(4), flush(7)], 5, 7),
        ([flush(4), truncation(2)], None, 2),
        ([flush(4), truncation(2)], 3, 3),  # it may keep too much
        ([flush(4), truncation(2), flush(3)], None, 3),
        ([flush(9, "other-0")], None, None),
    ],
)
def test_a_partition_is_flushed_up_to_the_offset_that_kafka_logs(
    tmp_path: Path, lines: list[str], checkpoint: int | None, flushed: int | None
) -> None:
    log = tmp_path / "flushes.log"
    log.write_text("".join(lines))
    if checkpoint is not None:
        (tmp_path / RECOVERY_POINTS).write_text(f"0\n1\nt 0 {checkpoint}\n")
    assert flushed_offsets(tmp_path, log).get("t-0") == flushed


def test_every_partition_of_a_broker_is_cut_but_the_metadata(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for partition in ("t-0", "t-1", "t-1.4ac2-delete", "__cluster_metadata-0"):
        write_log(logs / partition, [[2, 2]])
    log = tmp_path / "flushes.log"
    log.write_text(flush(2, "t-1"))

    assert [str(one) for one in lose_unflushed(logs, log)] == [
        "t-0 lost the offsets 0 to 3",
        "t-1 lost the offsets 2 to 3",
    ]
    assert offsets(logs / "__cluster_metadata-0") == [0, 1, 2, 3]


def test_without_a_log_of_flushes_a_cluster_cannot_lose_power(tmp_path: Path) -> None:
    found = Jars(version="3.9.1", folder=tmp_path)
    addresses = Addresses.free(range(4), proxied=False)
    watchdog: Any = None
    cluster = Cluster(tmp_path, found, Layout(), addresses, None, watchdog)
    assert Ability.LOSE_POWER not in cluster.abilities
    with pytest.raises(Unable, match=r"apache-kafka:3\.9\.1 lacks the ability power-loss"):
        cluster.do(Ability.LOSE_POWER, 1)
    (tmp_path / "log4j-core-2.24.3.jar").touch()
    assert Ability.LOSE_POWER in cluster.abilities
