"""Stores KIP-848 groups as records in the coordinator's log. A change of a group appends only the
records that differ.

The groups are computed by a replay of the log. A new coordinator therefore computes the same
groups, and an append that fails changes no group. As in Kafka, the replay includes records that are
not replicated yet. A response that depends on such a record waits until the record is replicated.

Source: KIP-848 (the types of the records); Apache Kafka, CoordinatorRuntime; KAFKA-16147 (partition
epochs).
Simplified: a record has the names of topics in addition to their ids. A group's record has the
numbers of partitions, whereas Kafka's record has a hash. Members have no rack and no host. A
member's record has the topics that match its regular expression. Kafka stores these topics in
another record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

from model.vocabulary import Offset, TopicPartition
from reference_impl.groups.consumer_group import (
    NEVER,
    ConsumerGroup,
    ConsumerMember,
    Epochs,
    MemberState,
)
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_records import (
    CONSUMER_GROUP,
    CURRENT,
    MEMBER,
    TARGET,
    TARGET_EPOCH,
    Entry,
)
from reference_impl.log.message_schema import Plain
from reference_impl.log.partition_log import FIRST_OFFSET, PartitionLog
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs

# Kafka: MemberState
_STATES: Final = (MemberState.STABLE, MemberState.UNREVOKED, MemberState.UNRELEASED)

Records = dict[tuple[str, ...], dict[str, Plain]]


def entries(before: ConsumerGroup, after: ConsumerGroup) -> list[Entry]:
    """Returns the records whose replay changes the group from `before` to `after`."""
    if before is after:
        return []
    old, new = _records(before), _records(after)
    # In reverse order: a member's record is deleted after the records of its assignment.
    gone = [Entry([*key], None) for key in reversed(old) if key not in new]
    return gone + [Entry([*key], value) for key, value in new.items() if old.get(key) != value]


def tombstones(group: ConsumerGroup) -> list[Entry]:
    return [Entry([*key], None) for key in reversed(_records(group))]


def _records(group: ConsumerGroup) -> Records:
    if group.epoch == 0:
        return {}
    id_ = group.group
    records: Records = {
        (CONSUMER_GROUP, id_): {
            "epoch": group.epoch,
            "topics": [
                {"topic": topic, "partitions": count} for topic, count in group.topics.items()
            ],
            "empty_since_ms": group.empty_since_ms,
        },
        (TARGET_EPOCH, id_): {
            "assignment_epoch": group.assignment_epoch,
            "assignment_timestamp": group.assigned_ms,
        },
    }
    for member_id, member in group.members.items():
        records[MEMBER, id_, member_id] = {
            "instance_id": member.instance_id,
            "rack_id": None,
            "client_id": member.client_id,
            "client_host": "",
            "subscribed_topic_names": [*member.topics],
            "subscribed_topic_regex": member.regex,
            "matched_topics": [*member.matched],
            "server_assignor": member.assignor,
            "rebalance_timeout_ms": member.rebalance_timeout_ms,
        }
        records[CURRENT, id_, member_id] = {
            "member_epoch": member.epoch,
            "previous_member_epoch": member.previous_epoch,
            "state": _STATES.index(member.state),
            "assigned_partitions": _with_epochs(member.assigned),
            "partitions_pending_revocation": _with_epochs(member.revoking),
        }
    for member_id, part in group.target.items():
        records[TARGET, id_, member_id] = {
            "topic_partitions": [
                {"topic": topic, "partitions": [place.index for place in places]}
                for topic, places in _by_topic(part)
            ]
        }
    return records


def _with_epochs(epochs: Epochs) -> Plain:
    return [
        {
            "topic": topic,
            "partitions": [place.index for place in places],
            "assignment_epochs": [epochs[place] for place in places],
        }
        for topic, places in _by_topic(epochs)
    ]


def _by_topic(places: Iterable[TopicPartition]) -> list[tuple[str, list[TopicPartition]]]:
    return [(topic, [*of]) for topic, of in groupby(sorted(places), key=lambda place: place.topic)]


def _epochs(value: Any) -> Epochs:
    return {
        TopicPartition(of["topic"], index): epoch
        for of in value
        for index, epoch in zip(of["partitions"], of["assignment_epochs"], strict=True)
    }


# ---------------------------------------------------------------- replay


def replayed(group: ConsumerGroup, entry: Entry, bugs: Bugs = NO_BUGS) -> ConsumerGroup:
    key: Any = entry.key
    kind, _, *rest = key
    return _REPLAY[kind](group, (*rest, "")[0], entry.value, bugs)


def _group(group: ConsumerGroup, _: str, value: Any, _bugs: Bugs) -> ConsumerGroup:
    if value is None:
        return ConsumerGroup(group=group.group)
    return replace(
        group,
        epoch=value["epoch"],
        topics={of["topic"]: of["partitions"] for of in value["topics"]},
        empty_since_ms=value["empty_since_ms"],
    )


def _target_epoch(group: ConsumerGroup, _: str, value: Any, _bugs: Bugs) -> ConsumerGroup:
    if value is None:
        return replace(group, assignment_epoch=0, assigned_ms=NEVER)
    return replace(
        group,
        assignment_epoch=value["assignment_epoch"],
        assigned_ms=value["assignment_timestamp"],
    )


def _target(group: ConsumerGroup, member_id: str, value: Any, _bugs: Bugs) -> ConsumerGroup:
    others = {id_: part for id_, part in group.target.items() if id_ != member_id}
    if value is None:
        return replace(group, target=others)
    part = frozenset(
        TopicPartition(of["topic"], index)
        for of in value["topic_partitions"]
        for index in of["partitions"]
    )
    return replace(group, target={**others, member_id: part})


def _member(group: ConsumerGroup, member_id: str, value: Any, _bugs: Bugs) -> ConsumerGroup:
    known = group.members.get(member_id, ConsumerMember(member_id=member_id))
    others = {id_: member for id_, member in group.members.items() if id_ != member_id}
    if value is None:
        return replace(group, members=others)
    member = replace(
        known,
        instance_id=value["instance_id"],
        client_id=value["client_id"],
        topics=tuple(value["subscribed_topic_names"]),
        regex=value["subscribed_topic_regex"] or "",
        matched=tuple(value["matched_topics"]),
        assignor=value["server_assignor"],
        rebalance_timeout_ms=value["rebalance_timeout_ms"],
    )
    return replace(group, members={**others, member_id: member})


def _current(group: ConsumerGroup, member_id: str, value: Any, bugs: Bugs) -> ConsumerGroup:
    old = group.members.get(member_id, ConsumerMember(member_id=member_id))
    new = ConsumerMember(member_id=member_id)
    if value is not None:
        new = replace(
            old,
            epoch=value["member_epoch"],
            previous_epoch=value["previous_member_epoch"],
            state=_STATES[value["state"]],
            assigned=_epochs(value["assigned_partitions"]),
            revoking=_epochs(value["partitions_pending_revocation"]),
        )
        group = replace(group, members={**group.members, member_id: new})
    return replace(group, partition_epochs=_partition_epochs(group, old, new, bugs))


def _partition_epochs(
    group: ConsumerGroup, old: ConsumerMember, new: ConsumerMember, bugs: Bugs
) -> Epochs:
    epochs = dict(group.partition_epochs)
    changes = [(old.owned, new.owned)]
    if Bug.PARTITION_EPOCH_ERASED in bugs:
        changes = [(old.assigned, new.assigned), (old.revoking, new.revoking)]
    # The earlier partitions lose their epochs, then the present ones get the new epoch.
    for had, has in changes:
        for place in had:
            epochs.pop(place, None)
        epochs |= dict.fromkeys(has, new.epoch)
    return epochs


_REPLAY: Final[Mapping[str, Callable[[ConsumerGroup, str, Any, Bugs], ConsumerGroup]]] = {
    CONSUMER_GROUP: _group,
    TARGET_EPOCH: _target_epoch,
    TARGET: _target,
    MEMBER: _member,
    CURRENT: _current,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroups:
    """The KIP-848 groups that result from a replay of the log up to the offset `read_to`
    (exclusive).
    """

    groups: Mapping[str, ConsumerGroup] = field(default_factory=dict[str, ConsumerGroup])
    read_to: Offset = FIRST_OFFSET

    def caught_up(self, log: PartitionLog, bugs: Bugs) -> ConsumerGroups:
        """Returns the groups after a replay of the log from `read_to` to the end of the log. The
        replay includes records that are not replicated yet.
        """
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
