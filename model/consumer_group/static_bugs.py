"""Bugs of static members. Each class changes the version `static-members` of the spec so that a
claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from model.consumer_group.state import Member
from model.consumer_group.versions import StaticMembers
from model.language import Bool, false, nothing
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug(
    "refuses-own-instance",
    breaks="who_is_fenced_comes_back",
    steps=12,
    fixed_by="static-members",
    issue="apache/kafka#23542",
    in_force=kafka("3.7", LATEST, needs="members with a group.instance.id"),
)
class RefusesOwnInstance(StaticMembers):
    """A static member that joins again with its own member id gets UNRELEASED_INSTANCE_ID.

    The member joins again because it was fenced, or because the response to its join was lost. The
    error ends the consumer. No consumer reads the member's partitions until the session of the
    member expires. docs/findings/static-member-refused.md shows this on real brokers.
    """

    def may_rejoin(s, m: Member) -> Bool:
        return super().may_rejoin(m) & (s.instance[m] == nothing)


@bug(
    "replaces-instance-in-use",
    breaks="a_replaced_process_owns_nothing",
    steps=7,
    fixed_by="static-members",
    in_force=UNRELEASED,
)
class ReplacesInstanceInUse(StaticMembers):
    """A process may take the place of a static member that is not away.

    The coordinator never answers UNRELEASED_INSTANCE_ID. So the old and the new process read the
    same partition until the old process is fenced.
    """

    def may_replace(s, m: Member, other: Member) -> Bool:
        return super().may_replace(m, other) | (m != other)


@bug(
    "adds-instances",
    breaks="one_member_of_an_instance",
    steps=4,
    fixed_by="static-members",
    in_force=UNRELEASED,
)
class AddsInstances(StaticMembers):
    """A process that joins becomes a second member, although the group has a member with the
    same group.instance.id.
    """

    def is_in_use(s, m: Member) -> Bool:
        return false


@bug(
    "frees-while-away",
    breaks="no_double_assignment",
    steps=9,
    fixed_by="static-members",
    in_force=UNRELEASED,
)
class FreesWhileAway(StaticMembers):
    """While a static member is away, its partitions are free, although they stay assigned to the
    member.

    So the coordinator assigns the partitions to another member, too.
    """

    def keeps_while_away(s) -> Bool:
        return false


@bug(
    "fences-no-instance",
    breaks="a_member_that_is_away_owns_nothing",
    steps=12,
    fixed_by="static-members",
    in_force=UNRELEASED,
)
class FencesNoInstance(StaticMembers):
    """The coordinator finds a static member by its group.instance.id, and does not compare member
    ids.

    When a replaced process leaves, the coordinator marks the new process as away, although the new
    process still reads its partitions. A third process may then get these partitions. The
    coordinator never answers FENCED_INSTANCE_ID.
    """

    def compares_member_ids(s) -> Bool:
        return false
