"""How a member comes to its target assignment: a table of three states, moved by its heartbeats.

                 must give up some                  has given them up
    stable --------------------------> unrevoked ---------------------+
      ^  |                                 ^                          |
      |  | some are others'                | must give up some        |
      |  v                                 |                          v
      |  unreleased -----------------------+        (as a stable one of an older epoch)
      |      |  all are free
      +------+

A member's epoch moves to the target's as soon as it has nothing left to give up. What it still
waits for is added as it becomes free.

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
    """What a heartbeat finds; the first that applies."""

    SETTLED = "it has come to the target"
    STILL_OWNS = "it reports what it was told to give up"
    TO_REVOKE = "it reports what the target gives to others"
    WITHHELD = "the target gives it what is another's still"
    COMPLETE = "it has all that the target gives it"


class Next(NamedTuple):
    """The state after it, and whether the member's epoch becomes the target's."""

    state: MemberState
    advances: bool


_ADVANCES: Final = True
_STAYS: Final = False

# What is not in the table cannot be found: only an unrevoked member was told to give something up,
# and only a stable one is done.
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
    """The member after a heartbeat that reports what it owns; None says: the same as before.

    The group has a target for its epoch. What the member is no longer subscribed to is no part of
    its target.
    """
    wanted = frozenset(
        partition
        for partition in group.target.get(member.member_id, frozenset())
        if partition.topic in member.topics
    )
    kept = {place: epoch for place, epoch in member.assigned.items() if place in wanted}
    given_up = {place: epoch for place, epoch in member.assigned.items() if place not in wanted}
    # Nobody else owns what this member was giving up: it may have it back at once.
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
    if finding in {Finding.SETTLED, Finding.STILL_OWNS}:
        return member
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


def _is_settled(member: ConsumerMember, group: ConsumerGroup) -> bool:
    return member.state is MemberState.STABLE and member.epoch == group.assignment_epoch
