"""The committed offsets of groups: a fold of the replicated part of a log, and nothing else.

A commit is visible once the high watermark has passed its record. One that is part of a transaction
pends until the transaction's marker: COMMIT lets it count, ABORT drops it. What was committed later
in the log is not overtaken by a marker: where the record lies decides, not where its marker does.
A running coordinator and a new one read the same log in the same way, so they can't differ.

A tombstone takes back what was committed, and what pends.

Source: KIP-98, KIP-447; KAFKA-4704; protocol rules D3, section e.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from model.vocabulary import LeaderEpoch, Offset, ProducerId, TopicPartition
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import Entry, LoggedBatch
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.protocol.groups import CommittedOffset
from reference_impl.protocol.transactions import TxnResult

KIND = "offset"


class GroupPartition(NamedTuple):
    """A group and a topic partition."""

    group: str
    topic_partition: TopicPartition


class OffsetRecord(NamedTuple):
    """A committed offset, and the offset of its own record."""

    record_offset: int
    committed: CommittedOffset
    committed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsets:
    """What the log says up to `read_to`."""

    committed: Mapping[GroupPartition, OffsetRecord] = field(
        default_factory=dict[GroupPartition, OffsetRecord]
    )
    pending: Mapping[ProducerId, Mapping[GroupPartition, OffsetRecord]] = field(
        default_factory=dict[ProducerId, Mapping[GroupPartition, OffsetRecord]]
    )
    read_to: Offset = FIRST_OFFSET
    skipped: frozenset[int] = frozenset()  # by a seeded bug

    @classmethod
    def of_log(cls, log: PartitionLog, bugs: Bugs) -> GroupOffsets:
        """What a new coordinator begins with."""
        return cls(skipped=_skipped(log, bugs)).caught_up(log, bugs)

    def caught_up(self, log: PartitionLog, bugs: Bugs) -> GroupOffsets:
        """The fold up to the high watermark."""
        if self.read_to >= log.high_watermark:
            return self
        committed, pending = dict(self.committed), dict(self.pending)
        for batch in coordinator_log.read_batches(log, self.read_to, log.high_watermark):
            if batch.offset in self.skipped:
                continue
            if batch.marker is not None:
                ended = pending.pop(batch.producer_id, {})
                if _counts(batch.marker.result, bugs):
                    _keep(committed, ended)
            elif batch.is_transactional:
                earlier = pending.get(batch.producer_id, {})
                pending[batch.producer_id] = {**earlier, **_told(batch)}
            else:
                for place in _taken_back(batch):
                    committed.pop(place, None)
                    pending = {
                        id_: {known: at for known, at in places.items() if known != place}
                        for id_, places in pending.items()
                    }
                _keep(committed, _told(batch))
        return replace(self, committed=committed, pending=pending, read_to=log.high_watermark)

    def of(self, group: str) -> dict[TopicPartition, CommittedOffset]:
        """All that a group has committed."""
        return {
            place.topic_partition: at.committed
            for place, at in self.committed.items()
            if place.group == group
        }

    def is_unstable(self, group: str, topic_partition: TopicPartition) -> bool:
        """A transaction that has not ended may still change the group's offset here."""
        place = GroupPartition(group, topic_partition)
        return any(place in places for places in self.pending.values())


def entry(group: str, topic_partition: TopicPartition, committed: CommittedOffset) -> Entry:
    """The record of a committed offset."""
    return Entry(
        [KIND, group, topic_partition.topic, topic_partition.index],
        [committed.offset, committed.leader_epoch, committed.metadata],
    )


def tombstone(group: str, topic_partition: TopicPartition) -> Entry:
    """The record that takes back what was committed for a place."""
    return Entry([KIND, group, topic_partition.topic, topic_partition.index], None)


def _told(batch: LoggedBatch) -> dict[GroupPartition, OffsetRecord]:
    found: dict[GroupPartition, OffsetRecord] = {}
    for number, (key, value) in enumerate(batch.entries):
        place, told = _place(key), cast("Any", value)
        if place is not None and told is not None:
            offset, leader_epoch, metadata = told
            found[place] = OffsetRecord(
                batch.offset + number,
                CommittedOffset(
                    offset=Offset(offset),
                    leader_epoch=LeaderEpoch(leader_epoch),
                    metadata=metadata,
                ),
                batch.timestamp_ms,
            )
    return found


def _taken_back(batch: LoggedBatch) -> list[GroupPartition]:
    places = [_place(entry.key) for entry in batch.entries if entry.value is None]
    return [place for place in places if place is not None]


def _place(key: Any) -> GroupPartition | None:
    return GroupPartition(key[1], TopicPartition(key[2], key[3])) if key[0] == KIND else None


def _skipped(log: PartitionLog, bugs: Bugs) -> frozenset[int]:
    """The seeded bug: where a new coordinator doesn't read, as a group was forgotten once."""
    if Bug.OFFSETS_DROPPED_WITH_GROUP not in bugs:
        return frozenset()
    batches = [
        (batch.offset, entry)
        for batch in coordinator_log.read_batches(log)
        for entry in batch.entries
    ]
    keys: list[Any] = [entry.key for _, entry in batches if entry.value is None]
    forgotten = {key[1] for key in keys if key[0] != KIND}
    return frozenset(
        offset
        for offset, entry in batches
        if (place := _place(entry.key)) is not None and place.group in forgotten
    )


def _keep(
    committed: dict[GroupPartition, OffsetRecord], told: Mapping[GroupPartition, OffsetRecord]
) -> None:
    for place, at in told.items():
        known = committed.get(place)
        if known is None or known.record_offset < at.record_offset:
            committed[place] = at


def _counts(result: TxnResult, bugs: Bugs) -> bool:
    """The offsets of a transaction count as its records do, but for the seeded bugs."""
    if Bug.OFFSETS_DESPITE_ABORT in bugs:
        return True
    return result is TxnResult.COMMIT and Bug.OFFSETS_LOST_AT_COMMIT not in bugs
