"""Bugs of abstract classic groups. Each class changes the spec so that a claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from model.classic_group_abstract.state import Member, TopicPartition
from model.classic_group_abstract.versions import AbstractClassicGroup
from model.language import Bool, false
from model.releases import UNRELEASED, kafka, unreleased
from model.variants import bug


@bug(
    "adds-instances",
    breaks="one_member_of_an_instance",
    steps=4,
    issue="KAFKA-8500",
    in_force=unreleased("fixed before 2.3.0, the first release with static members"),
)
class AddsInstances(AbstractClassicGroup):
    """A static member that returns during a rebalance is added to the group, while its old process
    remains a member.

    As a consequence, two members have the same group.instance.id. The action `join` breaks the
    claim `one_member_of_an_instance`.
    """

    def gives_way(s, other: Member, m: Member) -> Bool:
        return false


@bug(
    "forgets-replacement",
    breaks="a_stable_group_survives",
    steps=6,
    issue="KAFKA-10284",
    in_force=kafka("2.3", "2.6.0"),
)
class ForgetsReplacement(AbstractClassicGroup):
    """The coordinator does not write the new process of a static member to its log (KAFKA-10284).

    A new coordinator reads only the old process from the log. The action `replace` breaks the claim
    `a_stable_group_survives`.
    """

    def persists_replacement(s) -> Bool:
        return false


@bug(
    "believes-old-claims",
    breaks="one_owner",
    steps=15,
    issue="KAFKA-7026",
    in_force=kafka(None, "2.2"),
)
class BelievesOldClaims(AbstractClassicGroup):
    """The sticky assignor believes every member that reports that it had a partition (KAFKA-7026).

    A member that missed a generation may report a partition that another member has received in
    this generation. The action `assign` breaks the claim `one_owner`.
    """

    def keeps(s, m: Member, p: TopicPartition) -> Bool:
        return s.says_it_had(m, p)


@bug("reads-on-when-joining", breaks="only_owners_commit", steps=10, in_force=UNRELEASED)
class ReadsOnWhenJoining(AbstractClassicGroup):
    """A consumer reads its partitions while it joins the group again.

    For example, a new process with the same group.instance.id has taken the partitions of an old
    process. The old process joins again, and still reads these partitions. Then the coordinator
    accepts its commits for partitions that belong to the new process. The action `join` breaks the
    claim `only_owners_commit`.
    """

    def keeps_when_joining(s, m: Member, p: TopicPartition) -> Bool:
        return s.owns[m][p]


@bug("accepts-anyone", breaks="only_owners_commit", steps=7, in_force=UNRELEASED)
class AcceptsAnyone(AbstractClassicGroup):
    """The coordinator accepts the offset commits of every consumer, and also of former members.

    It refuses a commit only while it waits for the leader's assignment.
    """

    def accepts(s, m: Member) -> Bool:
        return ~s.awaits_assignment()
