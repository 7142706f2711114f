"""Bugs of abstract KIP-848 groups. Each class changes the spec so that a claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from model.consumer_group_abstract.state import Epoch, Member, TopicPartition
from model.consumer_group_abstract.versions import AbstractConsumerGroup, AbstractStaticMembers
from model.language import Bool, all_of, false, ite, true
from model.releases import UNRELEASED, kafka
from model.variants import bug


@bug(
    "erases-what-comes-back",
    breaks="no_double_assignment",
    steps=13,
    issue="KAFKA-16147",
    in_force=kafka("3.7", "3.7"),
)
class ErasesWhatComesBack(AbstractConsumerGroup):
    """The coordinator first adds a member's new partitions, and then removes the partitions that
    the member has revoked.

    So a partition looks free after its member has given it up and received it a second time. The
    coordinator then assigns the partition to another member, too (KAFKA-16147). The claims
    `taken_partitions_have_a_member` and `no_double_assignment` break at the action `heartbeat`.
    """

    def taken_after(s, m: Member, p: TopicPartition, assigned: Bool, revoking: Bool) -> Bool:
        added = ite(assigned, true, s.taken[p] & ~s.assigned[m][p])
        return ite(revoking, true, added & ~s.revoking[m][p])


@bug("frees-at-once", breaks="one_reader", steps=9, in_force=UNRELEASED)
class FreesAtOnce(AbstractConsumerGroup):
    """The coordinator frees a partition before the member that owns the partition has given it up.

    As a consequence, two consumers read the partition. The action `heartbeat` breaks the lemma
    `live_owners_have`.
    """

    def must_revoke(s, m: Member) -> Bool:
        return false


@bug("takes-what-is-owned", breaks="no_double_assignment", steps=6, in_force=UNRELEASED)
class TakesWhatIsOwned(AbstractConsumerGroup):
    """A member gets partitions by the target assignment, although another member still has them.

    The action `heartbeat` breaks the claim `no_double_assignment`.
    """

    def is_free(s, m: Member, p: TopicPartition) -> Bool:
        return true


@bug("reads-on-when-fenced", breaks="one_reader", steps=11, in_force=UNRELEASED)
class ReadsOnWhenFenced(AbstractConsumerGroup):
    """A fenced consumer reads its partitions while it joins again.

    Meanwhile, another member has received the partitions, so two consumers read them. The action
    `be_fenced` breaks the lemma `joining_consumers_own_nothing`.
    """

    def keeps_when_fenced(s, m: Member, p: TopicPartition) -> Bool:
        return s.owns[m][p]


@bug(
    "wants-exact-epoch",
    breaks="owners_may_commit",
    steps=6,
    issue="KAFKA-20066",
    in_force=kafka("3.7", "4.2"),
)
class WantsExactEpoch(AbstractConsumerGroup):
    """Before KIP-1251: the coordinator accepts a commit only in the member's present epoch
    (KAFKA-20066).

    The coordinator refuses the commit of a consumer that has not received its new epoch yet. The
    action `heartbeat` breaks the claim `owners_may_commit`.
    """

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        return s.has(m, p) & (s.consumer_epoch[m] == s.member_epoch[m])


@bug("commits-in-any-epoch", breaks="one_member_commits", steps=7, in_force=UNRELEASED)
class CommitsInAnyEpoch(AbstractConsumerGroup):
    """The coordinator accepts a member's commit even if the partition is not assigned to the
    member.

    The member must have joined, and the epoch of the commit must be at most the member's epoch.
    """

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        return all_of(
            s.joined[m],
            s.consumer_epoch[m] != Epoch.least(),
            s.consumer_epoch[m] <= s.member_epoch[m],
        )


@bug("forgets-who-rejoins", breaks="taken_partitions_have_a_member", steps=4, in_force=UNRELEASED)
class ForgetsWhoRejoins(AbstractConsumerGroup):
    """The coordinator treats a member of the group that joins with epoch 0 as a new member.

    The member loses its partitions, but these partitions do not become free. The action `join`
    breaks the claim `taken_partitions_have_a_member`.
    """

    def may_join(s, m: Member) -> Bool:
        return s.must_join(m)


@bug(
    "frees-while-away",
    breaks="no_double_assignment",
    steps=8,
    fixed_by="static-members",
    in_force=UNRELEASED,
)
class FreesWhileAway(AbstractStaticMembers):
    """While a static member is away, its partitions are free, although they stay assigned to the
    member.

    So the coordinator assigns the partitions to another member, too. The action `leave_for_now`
    breaks the claim `taken_partitions_have_a_member`.
    """

    def keeps_while_away(s) -> Bool:
        return false
