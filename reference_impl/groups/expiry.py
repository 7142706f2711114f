"""Deletes the committed offsets of a group, and the group itself, some time after its last member
has left:

    members -> empty -> after offsets.retention.minutes: the offsets, then the group

The offsets of a group with members do not expire. There is one exception: in a KIP-848 group, the
offsets of a topic expire if no member subscribes to the topic. If a group never had members, the
retention time begins with the commit. An offset does not expire while an open transaction may
replace it.

Source: KIP-211; KAFKA-13636, KAFKA-8069; Kafka documentation, offsets.retention.minutes.
Simplified: in a classic group with members, the offsets of topics that no member reads do not
expire.
Deviates: in an empty KIP-848 group, the retention time of the offsets begins when the group became
empty, as Kafka's documentation describes. In Kafka 4, the retention time begins with each commit.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.groups import consumer_group_log
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.log.coordinator_records import Entry
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context


def expired_offsets(
    offsets: GroupOffsets,
    classic: Mapping[str, ClassicGroup],
    consumers: Mapping[str, ConsumerGroup],
    busy: frozenset[str],
    context: Context,
) -> list[Entry]:
    """Returns a tombstone for each expired offset. Groups in `busy` are skipped, because an append
    of these groups is in progress.
    """
    gone: list[Entry] = []
    for place, at in offsets.committed.items():
        group, topic_partition = place
        if group in busy:
            continue
        consumer = consumers.get(group, ConsumerGroup(group=group))
        since_ms = classic.get(group, ClassicGroup(group=group)).empty_since_ms
        is_alive = bool(consumer.members) or (group in classic and bool(classic[group].members))
        wanted = {topic for member in consumer.members.values() for topic in member.subscribed}
        is_left = bool(consumer.members) and topic_partition.topic not in wanted
        if is_alive and not is_left and Bug.OFFSETS_EXPIRE_WHILE_ALIVE not in context.bugs:
            continue
        from_ms = max(at.committed_ms, since_ms, consumer.empty_since_ms)
        is_due = context.now_ms - from_ms >= context.broker_settings.offsets_retention_ms
        if is_due and not offsets.is_unstable(group, topic_partition):
            gone.append(group_offsets.tombstone(group, topic_partition))
    return gone


def forgotten_groups(
    offsets: GroupOffsets,
    classic: Mapping[str, ClassicGroup],
    consumers: Mapping[str, ConsumerGroup],
) -> tuple[list[Entry], list[str]]:
    """Finds the groups that have neither members nor offsets. Returns the tombstones of their
    records, and the ids of those groups that are classic groups.
    """
    with_offsets = {place.group for place in offsets.committed}
    with_offsets |= {place.group for places in offsets.pending.values() for place in places}
    old = [
        group
        for group in classic.values()
        if not group.members and not group.pending_members and group.group not in with_offsets
    ]
    entries = [group.tombstone() for group in old if group.generation]
    for consumer in consumers.values():
        if not consumer.members and consumer.group not in with_offsets:
            entries += consumer_group_log.tombstones(consumer)
    return entries, [group.group for group in old]
