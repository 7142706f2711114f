"""Leader epochs of a log ascend, and the file that says where each begins agrees with the log.

A leader stamps its epoch into what it appends; a log is what a sequence of leaders wrote. Followers
find where their log parts from the leader's by `leader-epoch-checkpoint`: a wrong line there cuts
a log at the wrong place.

Source: KIP-101, KIP-279; LeaderEpochFileCache.
Simplified: of an epoch in which nothing was written, the file may say so or not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from properties.log_audit.check import Check, Place, count, place
from properties.log_audit.log import Batch, Logs, ReplicaLog


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class EpochBack(Place):
    """A batch of an earlier leader epoch than the one before it."""

    leader_epoch: int
    earlier_offset: int
    earlier_leader_epoch: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class EpochElsewhere(Place):
    """A batch at an offset that the checkpoint gives to another leader epoch."""

    leader_epoch: int
    checkpointed: int  # the epoch that the file has for the offset


def epochs_back(logs: Logs) -> tuple[EpochBack, ...]:
    """One row per batch whose leader epoch is below that of the batch before it."""
    rows: list[EpochBack] = []
    for log in logs.replicas:
        for one, two in pairwise(batch for batch in log.sound if batch.leader_epoch >= 0):
            if two.leader_epoch < one.leader_epoch:
                rows.append(
                    EpochBack(
                        **place(log, two),
                        leader_epoch=two.leader_epoch,
                        earlier_offset=one.base_offset,
                        earlier_leader_epoch=one.leader_epoch,
                    )
                )
    return tuple(sorted(rows))


def _checkpointed(log: ReplicaLog) -> Iterator[tuple[Batch, int]]:
    """The batches of which the checkpoint says something, with the epoch that it says."""
    entries = sorted(log.beside.leader_epochs or (), key=lambda entry: entry[1])
    starts = [start for _, start in entries]
    for batch in log.sound:
        entry = bisect_right(starts, batch.base_offset) - 1
        if entry >= 0 and batch.leader_epoch >= 0:
            yield batch, entries[entry][0]


def epochs_elsewhere(logs: Logs) -> tuple[EpochElsewhere, ...]:
    """One row per batch with another epoch than the checkpoint gives to its offset."""
    return tuple(
        sorted(
            EpochElsewhere(**place(log, batch), leader_epoch=batch.leader_epoch, checkpointed=epoch)
            for log in logs.replicas
            for batch, epoch in _checkpointed(log)
            if batch.leader_epoch != epoch
        )
    )


CHECKS: Final = (
    Check(
        id="leader-epoch-order",
        statement="Leader epochs of a log never go down.",
        rule="A batch has a lower leader epoch than the batch with a leader epoch before it.",
        explanation=(
            "A leader that was already replaced went on writing into this log, or a follower did "
            "not cut its log where it parted from the leader's."
        ),
        source="KIP-101; claims: identical_replicas",
        observes="batches with a leader epoch",
        row=EpochBack,
        find=epochs_back,
        observed=lambda logs: count(logs, lambda batch: batch.sound and batch.leader_epoch >= 0),
        explain=lambda row: (
            f"{row}: the batch at offset {row.offset} is of leader epoch {row.leader_epoch}; the "
            f"one before it, at offset {row.earlier_offset}, of {row.earlier_leader_epoch}."
        ),
    ),
    Check(
        id="leader-epoch-checkpoint",
        statement="leader-epoch-checkpoint has for every offset the leader epoch of its batch.",
        rule=(
            "The last line of the file that starts at or below a batch's offset has another epoch "
            "than the batch."
        ),
        explanation=(
            "The next time this replica follows or leads, the place where logs part is looked up "
            "in this file: records that are the same are cut off, or others are kept."
        ),
        source="LeaderEpochFileCache; KIP-101, KIP-279",
        observes="batches that the file speaks of",
        row=EpochElsewhere,
        find=epochs_elsewhere,
        observed=lambda logs: sum(1 for log in logs.replicas for _ in _checkpointed(log)),
        explain=lambda row: (
            f"{row}: the batch at offset {row.offset} is of leader epoch {row.leader_epoch}, "
            f"leader-epoch-checkpoint has {row.checkpointed} for that offset."
        ),
    ),
)
