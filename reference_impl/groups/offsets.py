"""The committed offsets of groups. They are computed from the replicated part of the coordinator's
log.

A commit is visible when the high watermark has passed the record of the commit. If two commits have
the same partition, the commit whose record has the higher log offset wins. The order of the
transaction markers does not matter. A tombstone deletes the committed offset and the pending
offsets of transactions.

Source: KIP-98, KIP-447; KAFKA-4704; docs/kafka-rules.md D3, E3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from model.vocabulary import LeaderEpoch, Offset, ProducerId, TopicPartition
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import LoggedBatch
from reference_impl.log.coordinator_records import OFFSET, Entry
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.protocol.groups import CommittedOffset
from reference_impl.protocol.transactions import TxnResult


class GroupPartition(NamedTuple):
    group: str
    topic_partition: TopicPartition


class OffsetRecord(NamedTuple):
    """A committed offset, and the log offset of the record that stores it."""

    record_offset: int
    committed: CommittedOffset
    committed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsets:
    """The committed and pending offsets of all groups, from the log below the offset `read_to`. A
    pending offset is part of an open transaction.
    """

    committed: Mapping[GroupPartition, OffsetRecord] = field(
        default_factory=dict[GroupPartition, OffsetRecord]
    )
    pending: Mapping[ProducerId, Mapping[GroupPartition, OffsetRecord]] = field(
        default_factory=dict[ProducerId, Mapping[GroupPartition, OffsetRecord]]
    )
    groups: frozenset[str] = frozenset()  # created by a commit, even by an aborted commit
    read_to: Offset = FIRST_OFFSET
    skipped: frozenset[int] = frozenset()  # offsets of skipped batches, only with a seeded bug

    @classmethod
    def of_log(cls, log: PartitionLog, bugs: Bugs) -> GroupOffsets:
        return cls(skipped=_skipped(log, bugs)).caught_up(log, bugs)

    def caught_up(self, log: PartitionLog, bugs: Bugs) -> GroupOffsets:
        """Reads the log up to its high watermark, and returns the offsets with the changes that the
        log contains.
        """
        if self.read_to >= log.high_watermark:
            return self
        committed, pending, groups = dict(self.committed), dict(self.pending), set(self.groups)
        for batch in coordinator_log.read_batches(log, self.read_to, log.high_watermark):
            if batch.offset in self.skipped:
                continue
            if batch.marker is not None:
                ended = pending.pop(batch.producer_id, {})
                if _counts(batch.marker.result, bugs):
                    _keep(committed, ended)
            elif batch.is_transactional:
                earlier, records = pending.get(batch.producer_id, {}), _offset_records(batch)
                pending[batch.producer_id] = {**earlier, **records}
                groups |= {place.group for place in records}
            else:
                for place in _tombstoned(batch):
                    committed.pop(place, None)
                    pending = {
                        id_: {known: at for known, at in places.items() if known != place}
                        for id_, places in pending.items()
                    }
                records = _offset_records(batch)
                _keep(committed, records)
                groups |= {place.group for place in records}
        return replace(
            self,
            committed=committed,
            pending=pending,
            groups=frozenset(groups),
            read_to=log.high_watermark,
        )

    def of(self, group: str) -> dict[TopicPartition, CommittedOffset]:
        return {
            place.topic_partition: at.committed
            for place, at in self.committed.items()
            if place.group == group
        }

    def places_of(self, group: str) -> tuple[TopicPartition, ...]:
        """Returns the topic partitions in which the group has a committed or a pending offset."""
        pending = (place for places in self.pending.values() for place in places)
        places = dict.fromkeys((*self.committed, *pending))
        return tuple(place.topic_partition for place in places if place.group == group)

    def in_partitions(
        self, topic_partitions: frozenset[TopicPartition]
    ) -> dict[str, tuple[TopicPartition, ...]]:
        """Returns, for each group, the partitions of `topic_partitions` in which the group has a
        committed or a pending offset. Groups without such an offset are missing.
        """
        found: dict[str, tuple[TopicPartition, ...]] = {}
        pending = (place for places in self.pending.values() for place in places)
        for group, place in dict.fromkeys((*self.committed, *pending)):
            if place in topic_partitions:
                found[group] = (*found.get(group, ()), place)
        return found

    def has_group(self, group: str) -> bool:
        """Returns True if an offset commit has created the group and the group was not removed
        afterwards.

        Kafka: OffsetMetadataManager.replay, GroupMetadataManager.maybeDeleteGroup.
        """
        # An abort removes the pending offsets of the transaction, but not the group.
        return group in self.groups

    def with_group(self, group: str) -> GroupOffsets:
        return replace(self, groups=self.groups | {group})

    def without_group(self, group: str) -> GroupOffsets:
        return replace(self, groups=self.groups - {group})

    def with_groups_of_offsets(self) -> GroupOffsets:
        """Returns a copy in which `groups` has exactly the groups with a committed or a pending
        offset.
        """
        places = (*self.committed, *(place for known in self.pending.values() for place in known))
        return replace(self, groups=frozenset(place.group for place in places))

    def is_unstable(self, group: str, topic_partition: TopicPartition) -> bool:
        """Returns True if an open transaction may still change the group's committed offset in this
        partition.
        """
        place = GroupPartition(group, topic_partition)
        return any(place in places for places in self.pending.values())


def entry(
    group: str, topic_partition: TopicPartition, committed: CommittedOffset, now_ms: int
) -> Entry:
    return Entry(
        [OFFSET, group, topic_partition.topic, topic_partition.index],
        {
            "offset": committed.offset,
            "leader_epoch": committed.leader_epoch,
            "metadata": committed.metadata,
            "commit_timestamp": now_ms,
        },
    )


def tombstone(group: str, topic_partition: TopicPartition) -> Entry:
    return Entry([OFFSET, group, topic_partition.topic, topic_partition.index], None)


def _offset_records(batch: LoggedBatch) -> dict[GroupPartition, OffsetRecord]:
    found: dict[GroupPartition, OffsetRecord] = {}
    for number, (key, value) in enumerate(batch.entries):
        place, value = _place(key), cast("Any", value)
        if place is not None and value is not None:
            found[place] = OffsetRecord(
                batch.offset + number,
                CommittedOffset(
                    offset=Offset(value["offset"]),
                    leader_epoch=LeaderEpoch(value["leader_epoch"]),
                    metadata=value["metadata"],
                ),
                value["commit_timestamp"],
            )
    return found


def _tombstoned(batch: LoggedBatch) -> list[GroupPartition]:
    places = [_place(entry.key) for entry in batch.entries if entry.value is None]
    return [place for place in places if place is not None]


def _place(key: Any) -> GroupPartition | None:
    return GroupPartition(key[1], TopicPartition(key[2], key[3])) if key[0] == OFFSET else None


def _skipped(log: PartitionLog, bugs: Bugs) -> frozenset[int]:
    if Bug.OFFSETS_DROPPED_WITH_GROUP not in bugs:
        return frozenset()
    batches = [
        (batch.offset, entry)
        for batch in coordinator_log.read_batches(log)
        for entry in batch.entries
    ]
    keys: list[Any] = [entry.key for _, entry in batches if entry.value is None]
    forgotten = {key[1] for key in keys if key[0] != OFFSET}
    return frozenset(
        offset
        for offset, entry in batches
        if (place := _place(entry.key)) is not None and place.group in forgotten
    )


def _keep(
    committed: dict[GroupPartition, OffsetRecord], value: Mapping[GroupPartition, OffsetRecord]
) -> None:
    for place, at in value.items():
        known = committed.get(place)
        if known is None or known.record_offset < at.record_offset:
            committed[place] = at


def _counts(result: TxnResult, bugs: Bugs) -> bool:
    if Bug.OFFSETS_DESPITE_ABORT in bugs:
        return True
    return result is TxnResult.COMMIT and Bug.OFFSETS_LOST_AT_COMMIT not in bugs
