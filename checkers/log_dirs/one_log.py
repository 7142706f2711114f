"""What is wrong with a log by itself: its bytes, its offsets, its leader epochs, its end.

Source and rules: `properties.log_audit`, module by module; these kernels say the same.
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
    """Rows that a check found, and what it looked at."""

    check: str
    observations: int
    rows: pa.Table


def integrity(log: Log) -> Iterator[Found]:
    """Torn tails, unreadable bytes, and batches that cannot be read."""
    fault, newest = log.of["fault"], log.segment == len(log.names) - 1
    segments, batches = len(log.names), int(log.is_batch.sum())
    tail = (fault == TORN) & newest
    for check, no_batch in (
        ("torn-tail", tail),
        ("unreadable-bytes", (fault == TORN) & ~newest | (fault == JUNK)),
    ):
        at = np.flatnonzero(no_batch)
        stopped = np.full(len(at), int(log.beside.stopped))
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
    """Offsets that do not ascend, and those that are missing above what was cleaned."""
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
    """Leader epochs that go down, or are not those of the checkpoint."""
    epoch = log.of["leader_epoch"]
    known = log.sound[epoch[log.sound] >= 0]
    one, two = known[:-1], known[1:]
    down = epoch[two] < epoch[one]
    one, two = one[down], two[down]
    back = log.rows(
        EpochBack,
        two,
        leader_epoch=epoch[two],
        earlier_offset=log.base[one],
        earlier_leader_epoch=epoch[one],
    )
    yield Found(check="leader-epoch-order", observations=len(known), rows=back)
    entries = np.array(sorted(log.beside.leader_epochs or (), key=lambda e: e[1]), np.int64)
    entries = entries.reshape(-1, 2)
    entry = np.searchsorted(entries[:, 1], log.base[known], side="right") - 1
    spoken, entry = known[entry >= 0], entry[entry >= 0]
    said = entries[entry, 0]
    odd = said != epoch[spoken]
    at = spoken[odd]
    rows = log.rows(EpochElsewhere, at, leader_epoch=epoch[at], checkpointed=said[odd])
    yield Found(check="leader-epoch-checkpoint", observations=len(spoken), rows=rows)


def end(log: Log) -> Found:
    """A log that ends below its high watermark."""
    mark = log.beside.high_watermark
    offset, position, segment = log.end
    row = BeyondEnd(
        partition=log.beside.partition,
        offset=offset,
        replica=log.beside.replica,
        segment=segment,
        position=position,
        high_watermark=mark or 0,
        stopped=int(log.beside.stopped),
    )
    return Found(
        check="high-watermark-beyond-end",
        observations=int(mark is not None),
        rows=as_table([row] if mark is not None and mark > offset else [], BeyondEnd),
    )
