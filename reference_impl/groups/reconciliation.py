"""Reconciliation: heartbeats move a member to its target assignment, according to a table of
states. Each line has a condition that a heartbeat finds, and the member's next state:

    the heartbeat finds                                       next state of the member
    the member must revoke partitions                         unrevoked
    some partitions of its target still have other owners     unreleased
    all partitions of its target are free or its own          stable

If a member has nothing to revoke, it advances to the epoch of the target assignment. It gets each
partition of its target when the previous owner has released the partition.

Source: KIP-848, KAFKA-16147, KIP-1251; Apache Kafka, CurrentAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Final, NamedTuple

from model.vocabulary import TopicPartition
from reference_impl.groups.consumer_group import NOTHING, ConsumerGroup, ConsumerMember, MemberState


class Finding(Enum):
    """How a member's partitions compare with its target assignment. The values are checked in the
    order of their definition. The first value that applies and the member's present state together
    decide the member's next state.
    """

    SETTLED = "the member has its target assignment"
    STILL_OWNS = "the member still owns partitions that it must revoke"
    TO_REVOKE = "the member owns partitions outside its target"
    WITHHELD = "partitions of its target still have another owner"
    COMPLETE = "all partitions of its target are free for it"


class Next(NamedTuple):
    """A member's next state. If `advances` is True, the member gets the epoch of the target
    assignment.
    """

    state: MemberState
    advances: bool


_ADVANCES: Final = True
_STAYS: Final = False

# Other pairs cannot occur. Only a member in the state UNREVOKED has partitions to revoke, and only
# a member in the state STABLE is settled.
TRANSITIONS: Final[Mapping[tuple[MemberState, Finding], Next]] = {
    (MemberState.STABLE, Finding.SETTLED): Next(MemberState.STABLE, _STAYS),
    (MemberState.STABLE, Finding.TO_REVOKE): Next(MemberState.UNREVOKED, _STAYS),
    (MemberState.STABLE, Finding.WITHHELD): Next(MemberState.UNRELEASED, _ADVANCES),
    (MemberState.STABLE, Finding.COMPLETE): Next(MemberState.STABLE, _ADVANCES),
    (MemberState.UNREVOKED, Finding.STILL_OWNS): Next(MemberState.UNREVOKED, _STAYS),
    (MemberState.UNREVOKED, Finding.TO_REVOKE): Next(MemberState.UNREVOKED, _STAYS),
    (MemberState.UNREVOKED, Finding.WITHHELD): Next(MemberState.UNRELEASED, _ADVANCES),
    (MemberState.UNREVOKED, Finding.COMPLETE): Next(MemberState.STABLE, _ADVANCES),
    (MemberState.UNRELEASED, Finding.TO_REVOKE): Next(MemberState.UNREVOKED, _STAYS),
    (MemberState.UNRELEASED, Finding.WITHHELD): Next(MemberState.UNRELEASED, _ADVANCES),
    (MemberState.UNRELEASED, Finding.COMPLETE): Next(MemberState.STABLE, _ADVANCES),
}


def reconciled(
    member: ConsumerMember, group: ConsumerGroup, owned: tuple[TopicPartition, ...] | None
) -> ConsumerMember:
    """Returns the member after a heartbeat. `owned` has the partitions that the heartbeat reports
    as owned. None means that these partitions are unchanged since the previous report.

    The target assignment may be older than the member's subscription. The member must revoke
    partitions of topics that it no longer subscribes to, and gets no partition of these topics.
    """
    subscribed = member.subscribed
    wanted = frozenset(
        partition
        for partition in group.target.get(member.member_id, frozenset())
        if partition.topic in subscribed
    )
    kept = {place: epoch for place, epoch in member.assigned.items() if place in wanted}
    given_up = {place: epoch for place, epoch in member.assigned.items() if place not in wanted}
    # A partition that this member is revoking is free, because no other member owns the partition.
    free = frozenset(
        place
        for place in wanted.difference(kept)
        if place not in group.partition_epochs or place in member.revoking
    )

    def reports(some: Mapping[TopicPartition, int]) -> bool:
        return owned is None or not some.keys().isdisjoint(owned)

    findings = (
        (_is_settled(member, group) and not given_up, Finding.SETTLED),
        (bool(member.revoking) and reports(member.revoking), Finding.STILL_OWNS),
        (bool(given_up) and reports(given_up), Finding.TO_REVOKE),
        (len(kept) + len(free) < len(wanted), Finding.WITHHELD),
        (True, Finding.COMPLETE),
    )
    finding = next(finding for applies, finding in findings if applies)
    state, advances = TRANSITIONS[member.state, finding]
    if finding is Finding.SETTLED:
        return member
    if finding is Finding.STILL_OWNS:
        return _without_left_topics(member)
    if not advances:
        return replace(member, state=state, assigned=kept, revoking=given_up)
    epoch = group.assignment_epoch
    return replace(
        member,
        state=state,
        epoch=epoch,
        previous_epoch=member.previous_epoch if member.epoch == epoch else member.epoch,
        assigned={**kept, **dict.fromkeys(sorted(free), epoch)},
        revoking=NOTHING,
    )


def _without_left_topics(member: ConsumerMember) -> ConsumerMember:
    # Kafka: CurrentAssignmentBuilder.updateCurrentAssignment.
    subscribed = member.subscribed
    left = {place: at for place, at in member.assigned.items() if place.topic not in subscribed}
    if not left:
        return member
    kept = {place: at for place, at in member.assigned.items() if place not in left}
    return replace(member, assigned=kept, revoking={**member.revoking, **left})


def _is_settled(member: ConsumerMember, group: ConsumerGroup) -> bool:
    return member.state is MemberState.STABLE and member.epoch == group.assignment_epoch
