"""The lemmas that all versions of the spec `pipeline-abstract` have."""

from __future__ import annotations

from model.language import Bool, all_of, forall, implies, lemma
from model.pipeline_abstract.claims import PipelineClaims
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId


class PipelineLemmas(PipelineClaims):
    # ---- transactions and their markers

    @lemma
    def one_decision(s) -> Bool:
        """No transaction is both committed and aborted, and only a committed or aborted transaction
        has markers.

        The lemma is true because the coordinator commits or aborts only an ongoing transaction, and
        forgets the markers when the transaction is complete.
        """
        return forall(
            all_of(
                ~(s.committed[x] & s.aborted[x]),
                implies(s.output_marked[x] | s.offsets_marked[x], s.is_decided(x)),
            )
            for x in TransactionalId
        )

    @lemma
    def committed_effects_are_new(s) -> Bool:
        """If an output record of a committed transaction awaits a marker, no reader has received an
        output record of the same input. No other committed transaction has such an output record
        that awaits a marker.

        The lemma is true because a transaction commits only output records of inputs that are not
        below the committed position.
        """
        return forall(
            implies(
                s.committed[x] & s.written[x][p][o],
                all_of(
                    ~s.received[p][o],
                    forall(
                        implies(s.committed[y] & s.written[y][p][o], x == y)
                        for y in TransactionalId
                    ),
                ),
            )
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    @lemma
    def nothing_is_written_twice(s) -> Bool:
        """A transaction has at most one output record of each input.

        The lemma is true because positions only grow during a transaction, and because no other
        instance writes in the transaction.
        """
        return forall(
            ~s.doubled[x][p][o] for x in TransactionalId for p in TopicPartition for o in Offset
        )

    # ---- generations

    @lemma
    def generations_are_learned(s) -> Bool:
        """No instance knows a later generation than the present generation.

        The lemma is true because an instance learns only the present generation, and the present
        generation only grows.
        """
        return forall(s.known_generation[i] <= s.generation for i in Instance)

    @lemma
    def only_owners_read(s) -> Bool:
        """An instance reads only partitions that it owns in the generation that it knows.

        The lemma is true because an instance stops reading when it learns a new generation, and the
        owner of a partition never changes within a generation.
        """
        return forall(
            implies(s.reads[i][p], s.owner[s.known_generation[i]][p] == i)
            for i in Instance
            for p in TopicPartition
        )

    # ---- predicates of the other lemmas

    def is_between(s, x: TransactionalId, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if the input at `o` is below the pending offset of `x`, and not below the
        committed offset of the partition `p`.
        """
        return all_of(s.committed_offset[p] <= o, o < s.pending_offset[x][p])

    def is_current_reader(s, i: Instance, p: TopicPartition) -> Bool:
        """Returns True if the instance `i` reads the partition `p`, and may commit an offset of
        this partition.
        """
        return s.reads[i][p] & s.is_current(i, p)
