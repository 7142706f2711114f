"""Bugs of KIP-848 groups. Each class changes the spec so that a claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from model.consumer_group.state import Epoch, Member, TopicPartition
from model.consumer_group.versions import ConsumerGroup
from model.language import Bool, Nothing, all_of, exists, false, ite, nothing
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug(
    "erases-what-comes-back",
    breaks="no_double_assignment",
    steps=15,
    issue="KAFKA-16147",
    in_force=kafka("3.7", "3.7"),
)
class ErasesWhatComesBack(ConsumerGroup):
    """The coordinator first sets the epochs of assigned partitions, then clears the epochs of
    revoked partitions.

    So a partition looks free after its member has given it up and received it a second time. The
    coordinator then assigns the partition to another member, too (KAFKA-16147).
    """

    def partition_epoch_after(
        s,
        m: Member,
        p: TopicPartition,
        epoch: Epoch,
        assigned: Epoch | Nothing,
        revoking: Epoch | Nothing,
    ) -> Epoch | Nothing:
        old = s.member[m]
        kept = ite(old.assigned[p] != nothing, nothing, s.partition_epoch[p])
        first = ite(assigned != nothing, epoch, kept)
        return ite(revoking != nothing, epoch, ite(old.revoking[p] != nothing, nothing, first))


@bug(
    "refuses-return",
    breaks="converges",
    steps=11,
    issue="KAFKA-19233",
    in_force=kafka("3.7", "4.1"),
)
class RefusesReturn(ConsumerGroup):
    """The coordinator refuses a fenced member that joins with epoch 0, if the group still has the
    member (KAFKA-19233).

    The coordinator fences this member at each heartbeat until the session of the member expires.
    """

    def may_rejoin(s, m: Member) -> Bool:
        return false


@bug(
    "leaves-empty-group-open",
    breaks="an_empty_group_is_settled",
    steps=2,
    issue="KAFKA-20442",
    in_force=kafka("3.7", LATEST, "fixed after 4.3.1"),
)
class LeavesEmptyGroupOpen(ConsumerGroup):
    """When the final member is removed, the group epoch grows, but the assignment epoch does not
    (KAFKA-20442).
    """

    def closes_empty_group(s) -> Bool:
        return false


@bug(
    "wants-exact-epoch",
    breaks="owners_may_commit",
    steps=7,
    issue="KAFKA-20066",
    in_force=kafka("3.7", "4.2"),
)
class WantsExactEpoch(ConsumerGroup):
    """Before KIP-1251: the coordinator accepts a commit only in the member's present epoch
    (KAFKA-20066).

    The coordinator refuses the commit of a consumer that has not received its new epoch yet.
    """

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        return (s.consumer[m].epoch == s.member[m].epoch) & s.has(m, p)


@bug("frees-at-once", breaks="one_reader", steps=10, in_force=UNRELEASED)
class FreesAtOnce(ConsumerGroup):
    """The coordinator frees a partition before the partition's member has revoked it.

    As a consequence, two consumers read the partition.
    """

    def must_revoke(s, m: Member) -> Bool:
        return false


@bug(
    "frees-after-one-revocation",
    breaks="one_reader",
    steps=15,
    at={"partitions": 2, "epochs": 3},
    in_force=UNRELEASED,
)
class FreesAfterOneRevocation(ConsumerGroup):
    """If a member must revoke several partitions, the coordinator frees all of them as soon as the
    member has revoked one.

    The member still reads the other partitions, and another member reads them, too.
    """

    def waits_for_revocation(s, m: Member) -> Bool:
        revoked = exists(s.is_revoked(m, p) for p in TopicPartition)
        return super().waits_for_revocation(m) & ~revoked

    def is_revoked(s, m: Member, p: TopicPartition) -> Bool:
        return (s.member[m].revoking[p] != nothing) & ~s.consumer[m].owns[p]


@bug("forgets-who-rejoins", breaks="epochs_grow", steps=4, in_force=UNRELEASED)
class ForgetsWhoRejoins(ConsumerGroup):
    """The coordinator treats a member of the group that joins with epoch 0 as a new member.

    The member's epoch falls. The coordinator assigns the member's old partitions to no member, but
    still counts them as taken, so no member can receive them.
    """

    def may_join(s, m: Member) -> Bool:
        return s.consumer[m].epoch == 0


@bug("commits-in-any-epoch", breaks="only_owners_commit", steps=5, in_force=UNRELEASED)
class CommitsInAnyEpoch(ConsumerGroup):
    """The coordinator accepts a member's commit in every epoch up to the member's own epoch.

    The epoch of the commit may even be older than the assignment of the partition to the member.
    """

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        epoch = s.consumer[m].epoch
        return all_of(s.member[m].joined, epoch != 0, epoch <= s.member[m].epoch)
