"""The claims about abstract classic groups, and the lemmas that the proof of the claims needs.

The proof has this argument. A member only ever receives the latest assignment in the log, and this
assignment gives a partition to one member. In the same generation, a second process gets the
partition only if it replaces this member. So if two members report the same partition in the same
generation, one of them has replaced the other, and only one of them is in the group.
"""

from __future__ import annotations

from model.classic_group_abstract.actions import AbstractClassicGroupActions
from model.classic_group_abstract.state import Generation, Group, Member, TopicPartition
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
    nothing,
    witness,
)


class AbstractClassicGroupClaims(AbstractClassicGroupActions):
    # ---- claims

    @invariant
    def one_owner(s) -> Bool:
        """Each partition has at most one owner in each generation."""
        return s.has_one_owner(s.group)

    def has_one_owner(s, group: Group) -> Bool:
        return forall(
            implies(group.owners[a][p] & group.owners[b][p], a == b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """If a consumer believes that it owns a partition, and the coordinator accepts its commit,
        the consumer is the owner.

        The owner is the member to which the leader assigned the partition.
        """
        return forall(
            implies(s.owns[m][p] & s.accepts(m), s.group.owners[m][p])
            for m in Member
            for p in TopicPartition
        )

    @invariant
    def one_member_of_an_instance(s) -> Bool:
        """No two members have the same group.instance.id."""
        return s.has_one_member_of_each_instance(s.group)

    def has_one_member_of_each_instance(s, group: Group) -> Bool:
        return forall(
            ~all_of(group.members[a], group.members[b], s.same_instance(a, b))
            for a in Member
            for b in Member
        )

    @invariant
    def a_stable_group_survives(s) -> Bool:
        """While a group is stable, the coordinator's log contains the group's generation, its
        members and their assignment.

        A group is stable if no rebalance is under way and the leader's assignment has arrived.
        """
        return implies(
            s.is_stable(),
            all_of(
                s.persisted.generation == s.group.generation,
                forall(iff(s.persisted.members[m], s.group.members[m]) for m in Member),
                s.has_persisted_owners(),
            ),
        )

    def has_persisted_owners(s) -> Bool:
        return forall(
            iff(s.persisted.owners[m][p], s.group.owners[m][p])
            for m in Member
            for p in TopicPartition
        )

    # ---- witnesses

    @witness
    def one_is_behind(s) -> Bool:
        """Reachable: a consumer believes that it owns a partition, although the group has given the
        partition to another member.
        """
        return exists(
            all_of(s.owns[a][p], s.group.owners[b][p], ~s.group.owners[a][p])
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @witness
    def an_instance_comes_back(s) -> Bool:
        """Reachable: in a stable group, a process has replaced another process with the same
        group.instance.id.
        """
        return s.is_stable() & exists(
            all_of(
                s.group.members[a],
                s.same_instance(a, b),
                s.instance[a] != nothing,
                s.consumer_generation[b] == s.group.generation,
            )
            for a in Member
            for b in Member
        )

    @witness
    def two_report_a_partition(s) -> Bool:
        """Reachable: during a rebalance, two members report that they had the same partition."""
        return s.awaits_assignment() & exists(
            all_of(a != b, s.says_it_had(a, p), s.says_it_had(b, p))
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    # ---- lemmas

    @lemma
    def persisted_has_one_owner(s) -> Bool:
        """In the coordinator's log, a partition has at most one owner.

        The lemma is true because the log contains a state that the group had earlier, and in every
        state of the group a partition has at most one owner.
        """
        return s.has_one_owner(s.persisted)

    @lemma
    def persisted_has_one_member_of_an_instance(s) -> Bool:
        """In the coordinator's log, no two members have the same group.instance.id.

        The lemma is true because the log contains an earlier state of the group.
        """
        return s.has_one_member_of_each_instance(s.persisted)

    @lemma
    def the_log_is_not_ahead(s) -> Bool:
        """The generation in the coordinator's log is at most the group's generation. It is smaller
        while the group awaits its assignment.

        The lemma is true because a generation is written to the log when its assignment arrives.
        """
        return (s.persisted.generation <= s.group.generation) & implies(
            s.awaits_assignment(), s.persisted.generation < s.group.generation
        )

    @lemma
    def owners_of_a_persisted_generation(s) -> Bool:
        """If the coordinator's log and the group have the same generation, they have the same
        owners.

        The lemma is true because, after a generation is in the log, its owners change in the group
        and in the log in the same step.
        """
        return implies(s.persisted.generation == s.group.generation, s.has_persisted_owners())

    @lemma
    def generations_are_persisted(s) -> Bool:
        """The generation of every consumer is at most the generation in the coordinator's log.

        The lemma is true because a member receives an assignment only after the assignment is in
        the log.
        """
        return forall(
            all_of(
                s.consumer_generation[m] <= s.persisted.generation,
                s.last_generation[m] <= s.persisted.generation,
            )
            for m in Member
        )

    @lemma
    def assigned_after_the_first(s) -> Bool:
        """The generation of a stable group is above the initial generation. If the coordinator's
        log has members, the generation in the log is above the initial generation, too.

        The lemma is true because a rebalance raises the generation before the leader's assignment
        arrives.
        """
        least = Generation.least()
        return all_of(
            implies(s.is_stable(), s.group.generation != least),
            forall(
                implies(s.persisted.members[m], s.persisted.generation != least) for m in Member
            ),
        )

    @lemma
    def members_have_asked(s) -> Bool:
        """Every process in the group or in the coordinator's log is joining, or has received an
        assignment before.

        The lemma is true because only a process that asks to join becomes a member.

        A process may choose its group.instance.id only before it asks to join (`start_static`). So
        by this lemma, a process in the group keeps its group.instance.id.
        """
        return forall(
            implies(
                s.has_a_place(m), s.is_joining[m] | (s.last_generation[m] != Generation.least())
            )
            for m in Member
        )

    def has_a_place(s, m: Member) -> Bool:
        owner = exists(s.group.owners[m][p] | s.persisted.owners[m][p] for p in TopicPartition)
        return any_of(s.group.members[m], s.persisted.members[m], s.joined[m], owner)

    @lemma
    def reports_are_of_a_generation(s) -> Bool:
        """A consumer that reports its partitions when it joins also reports the generation of their
        assignment.

        The lemma is true because a consumer gets partitions only by an assignment, which belongs to
        a generation.
        """
        return forall(
            implies(s.last_owned[m][p], s.last_generation[m] != Generation.least())
            for m in Member
            for p in TopicPartition
        )

    @lemma
    def joined_processes_are_members(s) -> Bool:
        """A process that has joined the rebalance is a member, and a rebalance is under way.

        The lemma is true because a process becomes a member when it joins, and the list of joined
        processes is cleared when a generation begins.
        """
        return forall(implies(s.joined[m], s.group.members[m] & s.is_rebalancing) for m in Member)

    @lemma
    def reports_agree(s) -> Bool:
        """If the latest assignments of two consumers share a partition and belong to one
        generation, the consumers have the same group.instance.id.

        The lemma is true because one of the two consumers has replaced the other in this
        generation.
        """
        return forall(
            implies(
                all_of(
                    s.last_owned[a][p],
                    s.last_owned[b][p],
                    s.last_generation[a] == s.last_generation[b],
                ),
                (a == b) | s.same_instance(a, b),
            )
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @lemma
    def the_log_has_the_owner_reported(s) -> Bool:
        """If a consumer's latest assignment is from the generation in the coordinator's log, the
        log has an owner for each partition of the assignment.

        The owner is this consumer, or a process with the same group.instance.id.
        The lemma is true because the consumer received the assignment that is in the log.
        """
        return forall(
            implies(
                s.last_owned[m][p] & (s.last_generation[m] == s.persisted.generation),
                exists(
                    s.persisted.owners[x][p] & ((x == m) | s.same_instance(x, m)) for x in Member
                ),
            )
            for m in Member
            for p in TopicPartition
        )

    @lemma
    def current_owners_own(s) -> Bool:
        """If a member of the present generation believes that it owns a partition, then the
        coordinator's memory and log name this member as the owner.

        Another process with the same group.instance.id may replace this member. But a replaced
        process gives up its partitions before it joins again.
        """
        return s.owners_own(s.group) & s.owners_own(s.persisted)

    def owners_own(s, group: Group) -> Bool:
        return forall(
            implies(
                all_of(
                    s.owns[m][p], group.members[m], s.consumer_generation[m] == group.generation
                ),
                group.owners[m][p],
            )
            for m in Member
            for p in TopicPartition
        )
