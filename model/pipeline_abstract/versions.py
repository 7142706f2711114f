"""The two versions of the spec `pipeline-abstract` in which requests arrive at once. They differ in
the rule that fences the previous owner of a partition.

- `kip-447`: each offset carries the group's generation, and a new owner waits for pending offsets.
- `id-per-partition`: each input partition has a transactional id. A new owner initializes this
  transactional id, which fences the previous owner and ends its transaction.

Kafka Streams has the rule of `id-per-partition` with processing.guarantee=exactly_once, up to Kafka
3.9. It has the rule of `kip-447` with exactly_once_v2.

The version `id-per-partition` adds one action:

    instances    choose_id

Source: KIP-98; KIP-447.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Map,
    Nothing,
    action,
    all_of,
    exists,
    forall,
    implies,
    lemma,
    nothing,
    true,
    when,
)
from model.pipeline_abstract.proof import PipelineProof
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-447", in_force=kafka("2.5", LATEST), default=True)
class Pipeline(PipelineProof):
    """Pipelines as in KIP-447: a client that commits an offset in a transaction sends its
    generation, and OffsetFetch waits until no offset is pending.
    """


@version("id-per-partition", in_force=kafka("0.11", "2.4"))
class IdPerPartition(Pipeline):
    """Before KIP-447: each input partition has its own transactional id, which fences the
    partition's previous owner.

    An instance is the task of one partition, and the group coordinator does not compare
    generations.
    """

    id_of: Map[TopicPartition, TransactionalId | Nothing]  # the same in all instances

    @action
    def choose_id(s, p: TopicPartition, x: TransactionalId) -> None:
        """The application chooses the transactional id of a partition, and never changes this
        choice.

        Kafka: the application id and the task id in Kafka Streams.
        Simplified: several partitions may have the same transactional id.
        Without the guard that the partition has no id yet, the claim `each_input_at_most_once`
        breaks in 15 steps.
        """
        when(s.id_of[p] == nothing)
        s.id_of[p] = x

    def is_current(s, i: Instance, p: TopicPartition) -> Bool:
        """Returns True if `i` was the last instance that initialized the transactional id of the
        partition `p`.
        """
        return exists((s.id_of[p] == x) & s.may_use(i, x) for x in TransactionalId)

    def accepts_offset(s, i: Instance, p: TopicPartition) -> Bool:
        return true

    def may_fetch(s, i: Instance, p: TopicPartition) -> Bool:
        """Returns True if the instance `i` has initialized the transactional id of the partition
        `p`, and all transactions of this id are complete.

        If an instance fetches before it has initialized the id again, the claim
        `each_input_at_most_once` breaks (bug `keeps-producer`, 18 steps).
        """
        return exists(
            all_of(s.id_of[p] == x, s.may_use(i, x), s.may_hand_over(x)) for x in TransactionalId
        )

    @lemma
    def readers_use_the_id(s) -> Bool:
        """An instance that reads a partition uses the transactional id of this partition.

        The lemma is true because the instance initializes this id before it fetches the committed
        offset.
        """
        return forall(
            implies(s.reads[i][p], (s.uses[i] != nothing) & (s.id_of[p] == s.uses[i]))
            for i in Instance
            for p in TopicPartition
        )

    @lemma
    def only_the_id_has_content(s) -> Bool:
        """Each partition has its own transactional id. Only transactions of this id have output
        records of the partition's inputs, or pending offsets of the partition.

        The lemma is true because only instances that use this id read the partition.
        """
        return forall(
            implies(s.pending[x][p] | s.written[x][p][o], s.id_of[p] == x)
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )
