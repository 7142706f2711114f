"""The claims about abstract KIP-848 groups, and the lemmas that the proof of the claims needs.

A *member* is the coordinator's entry for a consumer. The proof has this argument. The coordinator
assigns only a free partition, so at most one member has the partition. A consumer begins to read a
partition when a response assigns the partition. The member then has the partition until a heartbeat
of the consumer no longer reports it. So a consumer whose heartbeats are accepted reads only
partitions that its member has.
"""

from __future__ import annotations

from model.consumer_group_abstract.actions import AbstractConsumerGroupActions
from model.consumer_group_abstract.state import Epoch, Member, TopicPartition
from model.language import (
    Bool,
    all_of,
    any_of,
    exists,
    forall,
    iff,
    implies,
    invariant,
    lemma,
    witness,
)


class AbstractConsumerGroupClaims(AbstractConsumerGroupActions):
    # ---- claims

    @invariant
    def no_double_assignment(s) -> Bool:
        """At most one member has a partition at any time. A member has a partition from its
        assignment until the coordinator learns that the member has given the partition up.
        """
        return forall(
            implies(s.has(a, p) & s.has(b, p), a == b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @invariant
    def one_reader(s) -> Bool:
        """Two consumers never own the same partition while the coordinator accepts the heartbeats
        of both.
        """
        return forall(
            implies(s.is_live_owner(a, p) & s.is_live_owner(b, p), a == b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    def is_live_owner(s, m: Member, p: TopicPartition) -> Bool:
        return s.owns[m][p] & s.accepts_heartbeat(m)

    @invariant
    def taken_partitions_have_a_member(s) -> Bool:
        """A partition is free if and only if no member has it.

        After a failover, the same partitions are free: the new coordinator reads the members from
        its log, and a partition is free if no member has it.
        """
        return forall(iff(s.taken[p], exists(s.has(m, p) for m in Member)) for p in TopicPartition)

    @invariant
    def owners_may_commit(s) -> Bool:
        """If the coordinator accepts a consumer's heartbeats, it also accepts the consumer's
        commits for the partitions that the consumer owns.
        """
        return forall(
            implies(s.is_live_owner(m, p), s.accepts_commit(m, p))
            for m in Member
            for p in TopicPartition
        )

    @invariant
    def one_member_commits(s) -> Bool:
        """The coordinator accepts the offset commits of at most one member for a partition."""
        return forall(
            implies(s.accepts_commit(a, p) & s.accepts_commit(b, p), a == b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    # ---- witnesses

    @witness
    def one_gives_up_while_another_waits(s) -> Bool:
        """Reachable: a member must still give up a partition that the target assignment gives to
        another member.
        """
        return exists(
            all_of(s.waits_for_revocation(a), s.revoking[a][p], s.target[p] == b, a != b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @witness
    def it_gets_back_what_it_gave_up(s) -> Bool:
        """Reachable: a member has given up a partition, and the target assignment gives the
        partition to the same member again.
        """
        return exists(
            all_of(s.has(m, p), s.revoking[m][p], ~s.owns[m][p], s.target[p] == m)
            for m in Member
            for p in TopicPartition
        )

    @witness
    def one_commits_an_epoch_behind(s) -> Bool:
        """Reachable: the coordinator accepts a commit whose epoch is smaller than the member's
        epoch.
        """
        return exists(
            all_of(s.accepts_commit(m, p), s.consumer_epoch[m] < s.member_epoch[m])
            for m in Member
            for p in TopicPartition
        )

    @witness
    def a_fenced_consumer_owns(s) -> Bool:
        """Reachable: two consumers own the same partition, and one of them has not learned yet that
        it is fenced.
        """
        return exists(
            all_of(a != b, s.owns[a][p], s.is_live_owner(b, p))
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    # ---- lemmas

    @lemma
    def live_owners_have(s) -> Bool:
        """If the coordinator accepts a consumer's heartbeats, the consumer reads only partitions
        that the coordinator has recorded for this consumer.

        The coordinator records the partitions that are assigned to the consumer, and the partitions
        that the consumer must still revoke.
        The lemma is true because the coordinator removes a partition only after a heartbeat that no
        longer reports the partition.
        """
        return forall(
            implies(s.is_live_owner(m, p), s.has(m, p)) for m in Member for p in TopicPartition
        )

    @lemma
    def answered_owners_have(s) -> Bool:
        """While a response to a member's heartbeat is in flight, the consumer reads only partitions
        that the coordinator has recorded for this consumer.

        The lemma is true because a heartbeat states the partitions that the consumer reads, and the
        coordinator responds only if they agree with its own record.
        """
        return forall(
            implies(all_of(s.answered[m], s.joined[m], s.owns[m][p]), s.has(m, p))
            for m in Member
            for p in TopicPartition
        )

    @lemma
    def joining_consumers_own_nothing(s) -> Bool:
        """A consumer that must join the group owns no partition.

        The lemma is true because a fenced consumer drops its partitions. Each response moves the
        consumer to an epoch in which it need not join.
        """
        return forall(
            implies(s.must_join(m), ~s.owns[m][p]) for m in Member for p in TopicPartition
        )

    @lemma
    def members_with_partitions_have_an_epoch(s) -> Bool:
        """If a member has a partition, or waits for a response that is in flight, the member's
        epoch is larger than the smallest epoch.

        The lemma is true because the coordinator moves a member to the assignment epoch before it
        assigns a partition to the member.
        """
        return forall(
            implies(
                any_of(
                    s.answered[m],
                    exists(s.assigned[m][p] | s.revoking[m][p] for p in TopicPartition),
                ),
                s.member_epoch[m] != Epoch.least(),
            )
            for m in Member
        )

    @lemma
    def epochs_are_in_order(s) -> Bool:
        """A member's epoch is at least the member's previous epoch, and at most the assignment
        epoch.

        The lemma is true because a heartbeat moves the member to the present assignment epoch.
        """
        return forall(
            implies(
                s.joined[m],
                all_of(
                    s.previous_epoch[m] <= s.member_epoch[m],
                    s.member_epoch[m] <= s.assignment_epoch,
                ),
            )
            for m in Member
        )

    @lemma
    def assigned_by_now(s) -> Bool:
        """The epoch in which a partition was assigned to a member is at most the member's epoch.

        The lemma is true because the coordinator assigns a partition when the member moves to the
        assignment epoch.
        """
        return forall(
            implies(s.has(m, p), s.since[m][p] <= s.member_epoch[m])
            for m in Member
            for p in TopicPartition
        )

    @lemma
    def owners_know_since_when(s) -> Bool:
        """If a consumer reads a partition that the coordinator has recorded for this consumer, the
        consumer's epoch is at least the epoch in which the coordinator assigned the partition.

        The lemma is true because the response that assigned the partition carried this epoch.
        """
        return forall(
            implies(s.owns[m][p] & s.has(m, p), s.since[m][p] <= s.consumer_epoch[m])
            for m in Member
            for p in TopicPartition
        )
