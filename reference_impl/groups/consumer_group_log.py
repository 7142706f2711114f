"""Groups of KIP-848 as records: a group is a set of records by key, and a change is what differs.

The coordinator never changes a group in memory: it appends the records that differ, and its groups
are the fold of its log up to the end. So a new coordinator, which folds the same log, knows what
the old one knew, and an append that was refused has changed nothing. What is not yet replicated
counts already, as in Kafka; but no answer that rests on it is given before it is.

Source: KIP-848 (its records, by the same names in small letters); Apache Kafka, CoordinatorRuntime;
KAFKA-16147 (partition epochs).
Simplified: as in `coordinator_log`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from model.vocabulary import Offset, TopicPartition
from reference_impl.groups.consumer_group import ConsumerGroup, ConsumerMember, Epochs, MemberState
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import Entry, Json
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs

GROUP: Final = "consumer-group-metadata"
MEMBER: Final = "consumer-group-member-metadata"
TARGET_EPOCH: Final = "consumer-group-target-assignment-metadata"
TARGET: Final = "consumer-group-target-assignment-member"
CURRENT: Final = "consumer-group-current-member-assignment"

Records = dict[tuple[str, ...], Json]


def entries(before: ConsumerGroup, after: ConsumerGroup) -> list[Entry]:
    """What has to be written so that the one becomes the other.

    Law: to replay them on `before` gives `after`.
    """
    if before is after:
        return []
    old, new = _records(before), _records(after)
    # What was written last goes first: a member is known until its part has been taken back.
    gone = [Entry([*key], None) for key in reversed(old) if key not in new]
    return gone + [Entry([*key], told) for key, told in new.items() if old.get(key) != told]


def tombstones(group: ConsumerGroup) -> list[Entry]:
    """What has to be written so that the group is forgotten."""
    return [Entry([*key], None) for key in reversed(_records(group))]


def _records(group: ConsumerGroup) -> Records:
    if group.epoch == 0:
        return {}
    id_ = group.group
    records: Records = {
        (GROUP, id_): {
            "epoch": group.epoch,
            "topics": {**group.topics},
            "empty_since_ms": group.empty_since_ms,
        },
        (TARGET_EPOCH, id_): group.assignment_epoch,
    }
    for member_id, member in group.members.items():
        records[MEMBER, id_, member_id] = {
            "instance_id": member.instance_id,
            "topics": [*member.topics],
            "assignor": member.assignor,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
        }
        records[CURRENT, id_, member_id] = {
            "epoch": member.epoch,
            "previous_epoch": member.previous_epoch,
            "state": member.state.value,
            "assigned": _listed(member.assigned),
            "revoking": _listed(member.revoking),
        }
    for member_id, part in group.target.items():
        records[TARGET, id_, member_id] = [[tp.topic, tp.index] for tp in sorted(part)]
    return records


def _listed(epochs: Epochs) -> Json:
    return [[tp.topic, tp.index, epoch] for tp, epoch in sorted(epochs.items())]


def _epochs(told: Any) -> Epochs:
    return {TopicPartition(topic, index): epoch for topic, index, epoch in told}


# ---------------------------------------------------------------- replay


def replayed(group: ConsumerGroup, entry: Entry, bugs: Bugs = NO_BUGS) -> ConsumerGroup:
    """The group after one more of its records."""
    key: Any = entry.key
    kind, _, *rest = key
    return _REPLAY[kind](group, (*rest, "")[0], entry.value, bugs)


def _group(group: ConsumerGroup, _: str, told: Any, _bugs: Bugs) -> ConsumerGroup:
    if told is None:
        return ConsumerGroup(group=group.group)
    return replace(
        group,
        epoch=told["epoch"],
        topics=told["topics"],
        empty_since_ms=told["empty_since_ms"],
    )


def _target_epoch(group: ConsumerGroup, _: str, told: Any, _bugs: Bugs) -> ConsumerGroup:
    return replace(group, assignment_epoch=told or 0)


def _target(group: ConsumerGroup, member_id: str, told: Any, _bugs: Bugs) -> ConsumerGroup:
    others = {id_: part for id_, part in group.target.items() if id_ != member_id}
    if told is None:
        return replace(group, target=others)
    part = frozenset(TopicPartition(topic, index) for topic, index in told)
    return replace(group, target={**others, member_id: part})


def _member(group: ConsumerGroup, member_id: str, told: Any, _bugs: Bugs) -> ConsumerGroup:
    known = group.members.get(member_id, ConsumerMember(member_id=member_id))
    others = {id_: member for id_, member in group.members.items() if id_ != member_id}
    if told is None:
        return replace(group, members=others)
    member = replace(
        known,
        instance_id=told["instance_id"],
        topics=tuple(told["topics"]),
        assignor=told["assignor"],
        rebalance_timeout_ms=told["rebalance_timeout_ms"],
    )
    return replace(group, members={**others, member_id: member})


def _current(group: ConsumerGroup, member_id: str, told: Any, bugs: Bugs) -> ConsumerGroup:
    old = group.members.get(member_id, ConsumerMember(member_id=member_id))
    new = ConsumerMember(member_id=member_id)
    if told is not None:
        new = replace(
            old,
            epoch=told["epoch"],
            previous_epoch=told["previous_epoch"],
            state=MemberState(told["state"]),
            assigned=_epochs(told["assigned"]),
            revoking=_epochs(told["revoking"]),
        )
        group = replace(group, members={**group.members, member_id: new})
    return replace(group, partition_epochs=_partition_epochs(group, old, new, bugs))


def _partition_epochs(
    group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember, bugs: Bugs
) -> Epochs:
    """What the member had is taken off the books first; then what it has is entered."""
    epochs = dict(group.partition_epochs)
    books = [(old.has, new.has)]
    if Bug.PARTITION_EPOCH_ERASED in bugs:
        books = [(old.assigned, new.assigned), (old.revoking, new.revoking)]
    for had, has in books:
        for place in had:
            epochs.pop(place, None)
        epochs |= dict.fromkeys(has, new.epoch)
    return epochs


_REPLAY: Final[Mapping[str, Callable[[ConsumerGroup, str, Any, Bugs], ConsumerGroup]]] = {
    GROUP: _group,
    TARGET_EPOCH: _target_epoch,
    TARGET: _target,
    MEMBER: _member,
    CURRENT: _current,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroups:
    """What the log says up to `read_to`."""

    groups: Mapping[str, ConsumerGroup] = field(default_factory=dict[str, ConsumerGroup])
    read_to: Offset = FIRST_OFFSET

    def caught_up(self, log: PartitionLog, bugs: Bugs) -> ConsumerGroups:
        """The fold up to the end of the log, replicated or not."""
        if self.read_to >= log.end_offset:
            return self
        groups = dict(self.groups)
        for batch in coordinator_log.read_batches(log, self.read_to):
            for entry in batch.entries:
                key: Any = entry.key
                if key[0] in _REPLAY:
                    known = groups.get(key[1], ConsumerGroup(group=key[1]))
                    groups[key[1]] = replayed(known, entry, bugs)
        known_groups = {id_: group for id_, group in groups.items() if group.epoch}
        return ConsumerGroups(groups=known_groups, read_to=log.end_offset)
