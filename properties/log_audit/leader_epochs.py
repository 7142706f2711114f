"""The leader epochs of a log ascend, and the file leader-epoch-checkpoint agrees with the log.

A follower uses the file to find the offset at which its log diverges from the leader's log. If a
line of the file is wrong, the follower truncates its log at a wrong offset.

Source: KIP-101, KIP-279; LeaderEpochFileCache.
Simplified: the file may or may not list an epoch in which no record was written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from properties.log_audit.check import Check, Location, count, location
from properties.log_audit.log import Batch, Logs, ReplicaLog


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class EpochBack(Location):
    """A batch that has a lower leader epoch than the batch before it."""

    leader_epoch: int
    earlier_offset: int
    earlier_leader_epoch: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class EpochElsewhere(Location):
    """A batch whose leader epoch differs from the epoch that leader-epoch-checkpoint has for its
    offset.
    """

    leader_epoch: int
    checkpointed: int  # the epoch of the offset in the file


def epochs_back(logs: Logs) -> tuple[EpochBack, ...]:
    rows: list[EpochBack] = []
    for log in logs.replicas:
        for one, two in pairwise(batch for batch in log.sound if batch.leader_epoch >= 0):
            if two.leader_epoch < one.leader_epoch:
                rows.append(
                    EpochBack(
                        **location(log, two),
                        leader_epoch=two.leader_epoch,
                        earlier_offset=one.base_offset,
                        earlier_leader_epoch=one.leader_epoch,
                    )
                )
    return tuple(sorted(rows))


def _checkpointed(log: ReplicaLog) -> Iterator[tuple[Batch, int]]:
    entries = sorted(log.metadata.leader_epochs or (), key=lambda entry: entry[1])
    starts = [start for _, start in entries]
    for batch in log.sound:
        entry = bisect_right(starts, batch.base_offset) - 1
        if entry >= 0 and batch.leader_epoch >= 0:
            yield batch, entries[entry][0]


def epochs_elsewhere(logs: Logs) -> tuple[EpochElsewhere, ...]:
    return tuple(
        sorted(
            EpochElsewhere(
                **location(log, batch), leader_epoch=batch.leader_epoch, checkpointed=epoch
            )
            for log in logs.replicas
            for batch, epoch in _checkpointed(log)
            if batch.leader_epoch != epoch
        )
    )


CHECKS: Final = (
    Check(
        id="leader-epoch-order",
        statement="Leader epochs of a log never decrease.",
        rule="A batch has a lower leader epoch than the batch before it.",
        explanation=(
            "A leader kept writing to this log after it was replaced, or a follower did not "
            "truncate its log where it diverged from the leader's."
        ),
        source="KIP-101; claims: identical_replicas",
        observes="batches with a leader epoch",
        row=EpochBack,
        find=epochs_back,
        observed=lambda logs: count(logs, lambda batch: batch.sound and batch.leader_epoch >= 0),
        explain=lambda row: (
            f"{row}: the batch at offset {row.offset} has leader epoch {row.leader_epoch}, but the "
            f"batch before it, at offset {row.earlier_offset}, has {row.earlier_leader_epoch}."
        ),
    ),
    Check(
        id="leader-epoch-checkpoint",
        statement="leader-epoch-checkpoint maps every offset to the leader epoch of its batch.",
        rule=(
            "A batch has another leader epoch than the last line of the file that starts at or "
            "below the batch's offset."
        ),
        explanation=(
            "After the next change of leader, replicas compare their logs by this file, so they "
            "truncate equal records or keep different ones."
        ),
        source="LeaderEpochFileCache; KIP-101, KIP-279",
        observes="batches that the file covers",
        row=EpochElsewhere,
        find=epochs_elsewhere,
        observed=lambda logs: sum(1 for log in logs.replicas for _ in _checkpointed(log)),
        explain=lambda row: (
            f"{row}: the batch at offset {row.offset} has leader epoch {row.leader_epoch}, but "
            f"leader-epoch-checkpoint has {row.checkpointed} for that offset."
        ),
    ),
)
