"""Checks in two steps that replicas are identical below their high watermarks.

The first step compares batches. Two batches are identical if they have the same offsets, leader
epoch, length and checksum. All other batches are called *suspects*. The second step compares the
records of the suspects. Most clusters have no suspects. Compaction causes suspects because it
rewrites batches.

Source: `properties.log_audit.replicas`.
Simplified: the bytes of two batches are not compared if the batches have the same length and
checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.log_dirs.columns import Columns, Log, as_table
from checkers.log_dirs.folders import LogDirs
from checkers.log_dirs.one_log import Found
from checkers.log_dirs.records import Flags, Ints
from checkers.log_dirs.segments import RECORDS
from properties.log_audit.log import LogMetadata
from properties.log_audit.replicas import Divergence

SUSPECTS: Final = pa.schema(
    [
        ("partition", pa.int64()),  # an index in the LogDirs, like all below except the position
        ("one", pa.int64()),  # the two compared logs
        ("two", pa.int64()),
        ("log", pa.int64()),  # the one of the two that has the batch
        ("segment", pa.int64()),
        ("position", pa.int64()),
    ]
)
_ALIKE: Final = ("last_offset", "leader_epoch", "crc", "size")
_AGREED: Final = (
    "leader_epoch",
    "attributes",
    "producer_id",
    "producer_epoch",
    "timestamp_ms",
    "digest",
)


def below(one: LogMetadata, two: LogMetadata) -> int | None:
    """Returns the lower high watermark of two replicas. Returns None if one of them has no
    checkpoint of its high watermark.
    """
    ours, theirs = one.high_watermark, two.high_watermark
    return None if ours is None or theirs is None else min(ours, theirs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    number: int
    log: Log


def suspects(partition: int, logs: Sequence[Numbered]) -> Found:
    shared = 0
    found: list[pa.Table] = [SUSPECTS.empty_table()]
    for one, two in combinations(logs, 2):
        limit = below(one.log.metadata, two.log.metadata)
        if limit is None:
            continue
        mine, theirs = (n.log.sound[n.log.last[n.log.sound] < limit] for n in (one, two))
        same, mine, theirs = _unlike(one.log, mine, two.log, theirs)
        shared += same
        for numbered, rows in ((one, mine), (two, theirs)):
            of = {"partition": partition, "one": one.number, "two": two.number}
            of |= {"log": numbered.number}
            columns = {name: np.full(len(rows), value) for name, value in of.items()}
            places = {name: numbered.log.of[name][rows] for name in ("segment", "position")}
            found.append(pa.table(columns | places, schema=SUSPECTS))
    return Found(check="suspects", observations=shared, rows=pa.concat_tables(found))


def _unlike(one: Log, mine: Ints, two: Log, theirs: Ints) -> tuple[int, Ints, Ints]:
    if not (one.ascends and two.ascends):
        return 0, mine, theirs
    _, here, there = np.intersect1d(
        one.base[mine], two.base[theirs], assume_unique=True, return_indices=True
    )
    alike: Flags = np.ones(len(here), np.bool_)
    for name in _ALIKE:
        alike &= one.of[name][mine[here]] == two.of[name][theirs[there]]
    same = int(one.of["record_count"][mine[here[alike]]].sum())
    mine, theirs = np.delete(mine, here[alike]), np.delete(theirs, there[alike])
    return same, _overlapping(one, mine, two, theirs), _overlapping(two, theirs, one, mine)


def _overlapping(one: Log, mine: Ints, two: Log, theirs: Ints) -> Ints:
    # `mine` and `theirs` have row numbers of batches in ascending order.
    if not len(theirs):
        return mine[:0]
    first = np.searchsorted(
        two.last[theirs], one.base[mine]
    )  # the first that ends at or after the begin of mine
    there = np.minimum(first, len(theirs) - 1)
    return mine[(first < len(theirs)) & (two.base[theirs[there]] <= one.last[mine])]


# ---------------------------------------------------------------- records


def compare_suspects(rows: pa.Table, suspect: pa.Table, dirs: LogDirs) -> Found:
    """Compares the records of suspect batches, for each pair of replicas.

    The result has one row for each pair of replicas that differ. The row has the first record that
    differs, and the number of records that differ.
    """
    columns: Columns = {
        n: rows[n].to_numpy().astype(np.int64) for n in RECORDS.names if n != "partition"
    }
    order = np.lexsort(
        (columns["position"], columns["segment"])
    )  # stable: records keep their order
    columns = {name: column[order] for name, column in columns.items()}
    pairs = suspect.group_by(["one", "two"]).aggregate([]).to_pylist()
    shared, found = 0, list[Divergence]()
    for pair in sorted(pairs, key=lambda pair: (pair["one"], pair["two"])):
        of_pair = suspect.filter(
            (suspect["one"].to_numpy() == pair["one"]) & (suspect["two"].to_numpy() == pair["two"])
        )
        here, there = _shared(columns, of_pair, pair["one"], pair["two"])
        shared += len(here)
        differ = np.zeros(len(here), np.bool_)
        for name in _AGREED:
            differ |= columns[name][here] != columns[name][there]
        if differ.any():
            first = int(np.argmax(differ))
            at, other = int(here[first]), int(there[first])
            found.append(_divergence(columns, dirs, at, other, int(differ.sum())))
    return Found(check="replica-divergence", observations=shared, rows=as_table(found, Divergence))


def _shared(columns: Columns, suspect: pa.Table, one: int, two: int) -> tuple[Ints, Ints]:
    sides: list[Ints] = []
    for log in (one, two):
        of_log = suspect.filter(suspect["log"].to_numpy() == log)
        wanted = _keys(of_log["segment"].to_numpy(), of_log["position"].to_numpy())
        chosen = np.isin(_keys(columns["segment"], columns["position"]), wanted)
        sides.append(np.flatnonzero(chosen & (columns["log"] == log)))
    mine, first_mine = np.unique(columns["offset"][sides[0]], return_index=True)
    theirs, first_theirs = np.unique(columns["offset"][sides[1]], return_index=True)
    _, here, there = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    return sides[0][first_mine[here]], sides[1][first_theirs[there]]


def _keys(segment: npt.NDArray[np.int64], position: npt.NDArray[np.int64]) -> Ints:
    return segment.astype(np.int64) << 40 | position


def _divergence(columns: Columns, dirs: LogDirs, at: int, other: int, offsets: int) -> Divergence:
    here, there = (
        (dirs.logs[columns["log"][n]], dirs.segments[columns["segment"][n]].path.name)
        for n in (at, other)
    )
    return Divergence(
        partition=here[0].partition,
        offset=int(columns["offset"][at]),
        replica=here[0].replica,
        segment=here[1],
        position=int(columns["position"][at]),
        other_replica=there[0].replica,
        other_segment=there[1],
        other_position=int(columns["position"][other]),
        offsets=offsets,
    )
