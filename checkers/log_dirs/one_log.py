"""Checks one log: its bytes, its offsets, its leader epochs, and its log end offset.

Source: `properties.log_audit`, which defines the checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.log_dirs.columns import Log, as_table
from checkers.log_dirs.segments import CHECKSUM, JUNK, MALFORMED, NO_FAULT, OLD, TORN
from properties.log_audit.integrity import BadBatch, NoBatch
from properties.log_audit.leader_epochs import EpochBack, EpochElsewhere
from properties.log_audit.offsets import OffsetBack, OffsetGap
from properties.log_audit.replicas import BeyondEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The result of one check: its violations, and the number of things that it checked, such as
    batches.
    """

    check: str
    observations: int
    rows: pa.Table


def integrity(log: Log) -> Iterator[Found]:
    """Yields the results of five checks of a log's bytes: torn batches at the end, unreadable
    bytes, wrong checksums, malformed records, and messages of an old format.
    """
    fault, newest = log.of["fault"], log.segment == len(log.names) - 1
    segments, batches = len(log.names), int(log.is_batch.sum())
    tail = (fault == TORN) & newest
    for check, no_batch in (
        ("torn-tail", tail),
        ("unreadable-bytes", (fault == TORN) & ~newest | (fault == JUNK)),
    ):
        at = np.flatnonzero(no_batch)
        stopped = np.full(len(at), int(log.metadata.stopped))
        rows = log.rows(NoBatch, at, size=log.of["size"][at], stopped=stopped)
        yield Found(check=check, observations=segments, rows=rows)
    whole = int(((fault == NO_FAULT) | (fault == MALFORMED)).sum())
    for check, code, observed in (
        ("checksum", CHECKSUM, batches),
        ("malformed-records", MALFORMED, whole),
        ("old-format", OLD, batches),
    ):
        at = np.flatnonzero(fault == code)
        rows = log.rows(BadBatch, at, size=log.of["size"][at])
        yield Found(check=check, observations=observed, rows=rows)


def offsets(log: Log, cleaned_to: int) -> Iterator[Found]:
    """Yields the results of two checks: `offset-order` finds offsets that go back, and `offset-gap`
    finds missing offsets.

    A gap is ignored if it ends at or below the offset `cleaned_to`, because compaction may have
    made the gap.
    """
    named = np.array([int(name.partition(".")[0]) for name in log.names], np.int64)
    least = np.maximum(named[log.segment], np.where(log.joined, log.next_offset, 0))
    back = np.flatnonzero(log.is_sound & (log.base < least))
    yield Found(
        check="offset-order",
        observations=len(log.sound),
        rows=log.rows(OffsetBack, back, next_offset=least[back]),
    )
    gap = np.flatnonzero(log.joined & (log.base > np.maximum(log.next_offset, cleaned_to)))
    yield Found(
        check="offset-gap",
        observations=int(log.joined.sum()),
        rows=log.rows(OffsetGap, gap, next_offset=log.next_offset[gap]),
    )


def leader_epochs(log: Log) -> Iterator[Found]:
    """Yields the results of two checks. The first check finds leader epochs that decrease. The
    second check finds leader epochs that differ from the file `leader-epoch-checkpoint`.
    """
    epoch = log.of["leader_epoch"]
    with_epoch = log.sound[epoch[log.sound] >= 0]
    one, two = with_epoch[:-1], with_epoch[1:]
    down = epoch[two] < epoch[one]
    one, two = one[down], two[down]
    back = log.rows(
        EpochBack,
        two,
        leader_epoch=epoch[two],
        earlier_offset=log.base[one],
        earlier_leader_epoch=epoch[one],
    )
    yield Found(check="leader-epoch-order", observations=len(with_epoch), rows=back)
    entries = np.array(sorted(log.metadata.leader_epochs or (), key=lambda e: e[1]), np.int64)
    entries = entries.reshape(-1, 2)
    entry = np.searchsorted(entries[:, 1], log.base[with_epoch], side="right") - 1
    covered, entry = with_epoch[entry >= 0], entry[entry >= 0]
    checkpointed = entries[entry, 0]
    differs = checkpointed != epoch[covered]
    at = covered[differs]
    rows = log.rows(EpochElsewhere, at, leader_epoch=epoch[at], checkpointed=checkpointed[differs])
    yield Found(check="leader-epoch-checkpoint", observations=len(covered), rows=rows)


def end(log: Log) -> Found:
    """Checks that the log reaches the high watermark in the file `replication-offset-checkpoint`.

    Nothing is checked if the file has no high watermark of the log.
    """
    high_watermark = log.metadata.high_watermark
    offset, position, segment = log.end
    row = BeyondEnd(
        partition=log.metadata.partition,
        offset=offset,
        replica=log.metadata.replica,
        segment=segment,
        position=position,
        high_watermark=high_watermark or 0,
        stopped=int(log.metadata.stopped),
    )
    return Found(
        check="high-watermark-beyond-end",
        observations=int(high_watermark is not None),
        rows=as_table([row] if (high_watermark or 0) > offset else [], BeyondEnd),
    )
