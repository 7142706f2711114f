"""Bugs of classic groups. Each class changes the spec so that a claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from model.classic_group.state import Member
from model.classic_group.versions import ClassicGroup
from model.language import Bool, false, true
from model.releases import UNRELEASED, kafka, unreleased
from model.variants import bug


@bug(
    "adds-instances",
    breaks="one_member_of_an_instance",
    steps=4,
    issue="KAFKA-8500",
    in_force=unreleased("fixed before 2.3.0, the first release with static members"),
)
class AddsInstances(ClassicGroup):
    """A static member that returns during a rebalance is added to the group, while its old process
    remains a member.

    As a consequence, two members have the same group.instance.id.
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
class ForgetsReplacement(ClassicGroup):
    """The coordinator does not write the new process of a static member to its log (KAFKA-10284).

    A new coordinator reads only the old process from the log. It fences the new process and accepts
    the old process.
    """

    def persists_replacement(s) -> Bool:
        return false


@bug(
    "obeys-old-answers",
    breaks="old_answers_change_nothing",
    steps=11,
    issue="KAFKA-9823",
    in_force=kafka(None, "2.5"),
)
class ObeysOldAnswers(ClassicGroup):
    """A consumer leaves its present generation because of an error response to an older request
    (KAFKA-9823).

    The consumer sent the refused request in an earlier generation, and has joined again since.
    """

    def is_about_now(s, m: Member) -> Bool:
        return true


@bug(
    "believes-old-claims",
    breaks="one_owner",
    steps=13,
    issue="KAFKA-7026",
    in_force=kafka(None, "2.2"),
)
class BelievesOldClaims(ClassicGroup):
    """The sticky assignor believes every member that reports that it had the partition
    (KAFKA-7026).

    A member that missed a generation may report a partition that another member has received in
    this generation.
    """

    def keeps(s, m: Member) -> Bool:
        return s.says_it_had(m)


@bug(
    "waits-for-leader",
    breaks="a_joining_member_gets_a_generation",
    steps=3,
    issue="KAFKA-12890",
    in_force=kafka(None, "2.8.0"),
)
class WaitsForLeader(ClassicGroup):
    """The coordinator waits for the leader's assignment as long as the leader lives
    (KAFKA-12890).
    """

    def waits_no_longer(s) -> Bool:
        return false


@bug("accepts-anyone", breaks="only_owners_commit", steps=6, in_force=UNRELEASED)
class AcceptsAnyone(ClassicGroup):
    """The coordinator accepts the offset commits of every consumer, and also of former members.

    It refuses a commit only while it waits for the leader's assignment.
    """

    def accepts(s, m: Member) -> Bool:
        return ~s.awaits_assignment()
