"""Simulates the effect of a power loss on the disk of a broker: each log ends at the offset up to
which it was flushed.

After a real power loss, records that were written and never flushed may be gone. This module
removes all of these records from the log directory of a dead broker.

The table below shows an example, in which the batch at offset 5 is the first batch that was not
flushed. Each line has a file and what happens to it:

    t-0/00000000000000000000.log        truncated before this batch
    t-0/00000000000000000007.log        deleted, because it begins after this batch
    t-0/*.index, *.timeindex, *.txnindex    deleted for both segments; the broker rebuilds them
    t-0/*.snapshot                      deleted if its offset is above 5
    t-0/leader-epoch-checkpoint         without the epochs that begin at offset 5 or higher

The module assumes that a partition was flushed up to the higher of two offsets:

- The recovery point of the partition in Kafka's checkpoint. It may be too high after a truncation.
- The highest offset in the partition's log lines "Flushing log up to offset". A later truncation to
  a lower offset lowers it. It may be too high, because Kafka writes the line before the flush.

The module therefore may preserve a record that was not flushed, but it removes no record that was
flushed.

Source: UnifiedLog.flush and LogLoader.recoverLog of Kafka 4.3.
Simplified: a power loss removes every record that was not flushed, and tears no batch. Other data
is not changed: the files that Kafka flushes when it writes them (checkpoints of offsets, metadata
of partitions), and the log of the cluster's metadata. If a topic is deleted and created again with
the same name, the flushed offset of the old topic is also used for the new topic, so fewer records
are removed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
_PARTITION: Final = re.compile(r".+-\d+")  # not `t-0.4ac2...-delete`
_ACTIONS: Final = "(Flushing log up to|Truncating to|Truncate and start at) offset"
LOGGED: Final = f".*{_ACTIONS} .*"  # the lines that a broker must log
_FLUSH: Final = re.compile(rf"partition=(\S+), .*{_ACTIONS} (\d+)")
_BATCH: Final = struct.Struct(">qi11si")  # base offset, length, ..., last offset delta
_PREFIX_BYTES: Final = 12  # the length does not include itself and what precedes it
_INDEXES: Final = (".index", ".timeindex", ".txnindex")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The range of offsets that a partition lost, from `first` to `last`. Both offsets are
    included.
    """

    partition: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.partition} lost the offsets {self.first} to {self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    position: int  # in its segment, in bytes
    first: int
    last: int


def lose_unflushed(log_dir: Path, flush_log: Path) -> tuple[Lost, ...]:
    """Removes all unflushed records of a dead broker from its log directory. Returns the removed
    offsets of each partition that lost records.
    """
    flushed = flushed_offsets(log_dir, flush_log)
    folders = (one for one in sorted(log_dir.iterdir()) if _is_partition(one))
    found = (truncate_at(folder, flushed.get(folder.name, 0)) for folder in folders)
    return tuple(one for one in found if one is not None)


def flushed_offsets(log_dir: Path, flush_log: Path) -> dict[str, int]:
    """Returns, for each partition that was flushed at least one time, the offset up to which the
    partition was flushed.
    """
    # The offsets come from Kafka's checkpoint, and from the lines about flushes and truncations in
    # the broker's server log.
    logged: dict[str, int] = {}
    for partition, action, offset in _flushes(flush_log):
        known = logged.get(partition, 0)
        logged[partition] = max(known, offset) if action.startswith("Flush") else min(known, offset)
    checkpointed = dict(_recovery_points(log_dir / RECOVERY_POINTS))
    partitions = logged.keys() | checkpointed.keys()
    return {one: max(logged.get(one, 0), checkpointed.get(one, 0)) for one in partitions}


def truncate_at(folder: Path, offset: int) -> Lost | None:
    """Removes every batch whose last offset is `offset` or higher from the log of a partition.
    Returns the removed offsets, or None if the log has no batch to remove.
    """
    segments = sorted(folder.glob("*.log"))
    # A batch with records on both sides of the offset is removed too.
    beyond = {segment: list(_batches_from(segment, offset)) for segment in segments}
    lost = [batch for segment in segments for batch in beyond[segment]]
    if not lost:
        return None
    first, last = lost[0].first, lost[-1].last
    for segment in segments:
        if _base(segment) > first:
            segment.unlink()
        elif beyond[segment]:
            with segment.open("r+b") as file:
                file.truncate(beyond[segment][0].position)
        else:
            continue
        for suffix in _INDEXES:
            segment.with_suffix(suffix).unlink(missing_ok=True)
    for snapshot in folder.glob("*.snapshot"):
        if _base(snapshot) > first:
            snapshot.unlink()
    _truncate_leader_epochs(folder / LEADER_EPOCHS, first)
    return Lost(partition=folder.name, first=first, last=last)


def _batches_from(segment: Path, offset: int) -> Iterator[_Batch]:
    position = 0
    with segment.open("rb") as file:
        while len(head := file.read(_BATCH.size)) == _BATCH.size:
            base, length, _, delta = _BATCH.unpack(head)
            if base + delta >= offset:
                yield _Batch(position=position, first=base, last=base + delta)
            position += _PREFIX_BYTES + length
            file.seek(position)


def _flushes(flush_log: Path) -> Iterator[tuple[str, str, int]]:
    for line in flush_log.read_text(encoding="utf-8", errors="replace").splitlines():
        matched = _FLUSH.search(line)
        if matched is not None:
            yield matched[1], matched[2], int(matched[3])


def _recovery_points(file: Path) -> Iterator[tuple[str, int]]:
    for line in file.read_text(encoding="utf-8").splitlines()[2:] if file.exists() else ():
        topic, partition, offset = line.split()
        yield f"{topic}-{partition}", int(offset)


def _truncate_leader_epochs(file: Path, end: int) -> None:
    if not file.exists():
        return
    version, _, *entries = file.read_text(encoding="utf-8").splitlines()
    kept = [entry for entry in entries if int(entry.split()[1]) < end]
    file.write_text(
        "".join(f"{line}\n" for line in (version, str(len(kept)), *kept)), encoding="utf-8"
    )


def _is_partition(folder: Path) -> bool:
    is_data = _PARTITION.fullmatch(folder.name) is not None and folder.is_dir()
    return is_data and not folder.name.startswith("__cluster_metadata")


def _base(file: Path) -> int:
    return int(file.name.partition(".")[0])
