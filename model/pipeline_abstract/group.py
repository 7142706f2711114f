"""The consumer's side of the spec `pipeline-abstract`: the actions of the group, and the actions by
which an instance gets its partitions and positions.

All versions have these actions. Each version has its own actions of transactions.
"""

from __future__ import annotations

from model.language import Bool, action, all_of, forall, implies, nothing, true, when
from model.pipeline_abstract.state import (
    Generation,
    Instance,
    Offset,
    PipelineState,
    TopicPartition,
    TransactionalId,
)


class GroupActions(PipelineState):
    # ---- rules that versions replace

    def is_newest(s, i: Instance, x: TransactionalId) -> Bool:
        """Returns True if no newer producer epoch of the transactional id `x` fences the instance
        `i`.

        This class has no producer epochs, so the result is always True. Each version replaces this
        method with its own rule.
        """
        return true

    def may_use(s, i: Instance, x: TransactionalId) -> Bool:
        return all_of(s.uses[i] == x, s.is_newest(i, x))

    def may_learn(s, i: Instance) -> Bool:
        """Returns True if the instance `i` may learn the present generation, because it has no open
        transaction.

        Without this rule, the claim `each_input_at_most_once` breaks (bug `learns-in-transaction`,
        12 steps).
        """
        return forall(implies(s.may_use(i, x), ~s.is_open(x)) for x in TransactionalId)

    # ---- the group

    @action
    def rebalance(s, newer: Generation) -> None:
        """The group begins a new generation, in which no partition has an owner yet.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: a rebalance may happen at any time.
        Without the guard that the generation is new, the claim `each_input_at_most_once` breaks in
        17 steps.
        """
        when(s.generation < newer)
        s.generation = newer

    @action
    def assign(s, p: TopicPartition, owner: Instance) -> None:
        """The group gives a partition to an instance, for the present generation.

        Kafka: GroupMetadataManager.classicGroupSync.
        Simplified: the group assigns the partitions one after another, and any instance may be in
        the group.
        Without the guard that the partition has no owner in this generation, the claim
        `each_input_at_most_once` breaks in 14 steps.
        """
        when(s.owner[s.generation][p] == nothing)
        s.owner[s.generation][p] = owner

    # ---- an instance joins the group

    def stop_reading(s, i: Instance) -> None:
        for p in TopicPartition:
            s.reads[i][p] = False
            s.position[i][p] = Offset.least()

    @action
    def learn_generation(s, i: Instance) -> None:
        """An instance learns the present generation, and stops reading: from now on it reads no
        partition.

        Kafka: ConsumerCoordinator.onJoinPrepare and onJoinComplete.
        Simplified: both methods are one step.
        Every claim also holds without the guard that the generation is new.
        """
        when(s.known_generation[i] < s.generation, s.may_learn(i))
        s.known_generation[i] = s.generation
        s.stop_reading(i)

    # ---- positions

    def may_fetch(s, i: Instance, p: TopicPartition) -> Bool:
        """Returns True if no offset of the partition `p` is pending. OffsetFetch with requireStable
        demands this.

        Without this rule, the claim `each_input_at_most_once` breaks (bug `returns-unstable`, 13
        steps).
        """
        return forall(~s.pending[x][p] for x in TransactionalId)

    @action
    def fetch_offset(s, i: Instance, p: TopicPartition) -> None:
        """An instance starts to read a partition of its assignment at the committed offset.

        Kafka: OffsetFetch, ConsumerCoordinator.initWithCommittedOffsetsIfNeeded.
        Simplified: if no offset is committed, the instance starts at the least offset. The
        assignment may be from an earlier generation.
        Without the guard that the instance does not read the partition yet, the claim
        `each_input_at_most_once` breaks in 9 steps.
        """
        when(s.owner[s.known_generation[i]][p] == i, ~s.reads[i][p], s.may_fetch(i, p))
        s.reads[i][p] = True
        s.position[i][p] = s.committed_offset[p]

    def is_current(s, i: Instance, p: TopicPartition) -> Bool:
        """Returns True if the instance `i` knows the newest generation, so that it may commit
        offsets.

        The version `id-per-partition` has another rule: the instance must be the last one that
        initialized the partition's transactional id.
        """
        return s.known_generation[i] == s.generation
