"""The lemmas that prove the claims of the spec `pipeline-abstract`.

An instance is *current* for a partition if the group coordinator would accept its offset of the
partition. A current instance that reads the partition is the *current reader* of the partition.

The proof argues as follows. The current reader began at the committed offset, when no offset was
pending, and since then no other instance can send an offset. So the inputs between the committed
offset and the reader's position are exactly the inputs whose output records are in the reader's
open transaction. The transaction commits these records together with the reader's position, which
becomes the committed offset. Another instance may write output records, but it cannot send an
offset for them. So its transaction cannot commit.
"""

from __future__ import annotations

from model.language import (
    Bool,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    lemma,
)
from model.pipeline_abstract.actions import PipelineActions
from model.pipeline_abstract.lemmas import PipelineLemmas
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId


class PipelineProof(PipelineLemmas, PipelineActions):
    # ---- transactions and their markers

    @lemma
    def markers_leave_nothing(s) -> Bool:
        """After the output has a transaction's marker, no output record of the transaction awaits a
        marker. After the group coordinator has the marker, no offset of the transaction is pending.

        The lemma is true because a committed or aborted transaction gets no further output records
        and no further offsets.
        """
        return forall(
            all_of(
                implies(s.output_marked[x], ~s.written[x][p][o]),
                implies(s.offsets_marked[x], ~s.pending[x][p]),
            )
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    @lemma
    def written_is_below_position(s) -> Bool:
        """An instance's position is above each input whose output record is in its open
        transaction.

        The lemma is true because an instance may move its position back only while it has no open
        transaction.
        """
        return forall(
            implies(
                all_of(s.written[x][p][o], ~s.is_decided(x), s.may_use(i, x)),
                s.reads[i][p] & (o < s.position[i][p]),
            )
            for i in Instance
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    # ---- pending offsets

    @lemma
    def one_offset_is_pending(s) -> Bool:
        """For each partition, at most one transaction has a pending offset.

        The lemma is true because the group coordinator accepts offsets of only one reader, and this
        reader began when no offset was pending.
        """
        return forall(
            implies(s.pending[x][p] & s.pending[y][p], x == y)
            for p in TopicPartition
            for x in TransactionalId
            for y in TransactionalId
        )

    @lemma
    def pending_offsets_match_effects(s) -> Bool:
        """While a transaction with a pending offset is open, it has exactly the output records of
        the inputs from the committed offset up to the pending offset.

        After the commit, and until the group coordinator receives the marker, some output records
        of the transaction may still await their markers. Each of these records belongs to an input
        between the two offsets.

        The lemma is true because the instance that sent the pending offset had its position just
        above these inputs.
        """
        return forall(
            implies(
                s.pending[x][p] & ~s.aborted[x],
                all_of(
                    s.committed_offset[p] <= s.pending_offset[x][p],
                    implies(s.written[x][p][o], s.is_between(x, p, o)),
                    implies(~s.committed[x] & s.is_between(x, p, o), s.written[x][p][o]),
                ),
            )
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    # ---- current readers

    @lemma
    def only_the_reader_sends_offsets(s) -> Bool:
        """If a partition has a current reader, each pending offset of the partition is the position
        of this reader.

        The offset is pending in the reader's own transaction, which is not aborted. A current
        reader is an instance that reads the partition and may commit its offset.

        The lemma is true because the reader began when no offset was pending, and the group
        coordinator refuses the offsets of other instances.
        """
        return forall(
            implies(
                s.is_current_reader(i, p) & s.pending[x][p],
                all_of(s.may_use(i, x), ~s.aborted[x], s.position[i][p] == s.pending_offset[x][p]),
            )
            for i in Instance
            for x in TransactionalId
            for p in TopicPartition
        )

    @lemma
    def readers_begin_at_the_committed_offset(s) -> Bool:
        """The position of a current reader (an instance that reads a partition and may commit its
        offset) is not below the committed offset.

        If the reader's open transaction has an output record of an input, this input is not below
        the committed offset, either.

        The lemma is true because the reader began at the committed offset, and only its own
        transactions move the committed offset.
        """
        return forall(
            implies(
                s.is_current_reader(i, p),
                all_of(
                    s.committed_offset[p] <= s.position[i][p],
                    implies(s.is_in_transaction(i, x, p, o), s.committed_offset[p] <= o),
                ),
            )
            for i in Instance
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    @lemma
    def readers_skip_nothing(s) -> Bool:
        """If an input is below the position of a current reader, there are two cases. Either the
        input is below the committed position, or the reader's open transaction has the output
        record of the input.

        A current reader is an instance that reads a partition and may commit its offset. The lemma
        is true because the reader goes from input to input, and after an abort it starts again at
        the committed offset.
        """
        return forall(
            implies(
                s.is_current_reader(i, p) & (o < s.position[i][p]),
                any_of(
                    s.is_below_position(p, o),
                    exists(s.is_in_transaction(i, x, p, o) for x in TransactionalId),
                ),
            )
            for i in Instance
            for p in TopicPartition
            for o in Offset
        )

    def is_in_transaction(s, i: Instance, x: TransactionalId, p: TopicPartition, o: Offset) -> Bool:
        return all_of(s.may_use(i, x), ~s.is_decided(x), s.written[x][p][o])
