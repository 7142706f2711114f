"""The claims of the spec `pipeline-abstract`: for each input, exactly one output record is in the
output.
"""

from __future__ import annotations

from model.language import (
    Bool,
    all_of,
    exists,
    forall,
    iff,
    implies,
    invariant,
    nothing,
    witness,
)
from model.pipeline_abstract.group import GroupActions
from model.pipeline_abstract.state import (
    Generation,
    Instance,
    Offset,
    TopicPartition,
    TransactionalId,
)


class PipelineClaims(GroupActions):
    # ---- claims

    @invariant
    def each_input_at_most_once(s) -> Bool:
        """A reader of the output at read_committed never receives the output record of an input
        twice.
        """
        return forall(~s.repeated[p][o] for p in TopicPartition for o in Offset)

    @invariant
    def position_is_exact(s) -> Bool:
        """An input is below the group's committed position if and only if its output record is
        committed.

        The coordinator's decision commits the output records and the position at the same time. The
        markers follow later.
        """
        return forall(
            iff(s.is_below_position(p, o), s.has_committed_effect(p, o))
            for p in TopicPartition
            for o in Offset
        )

    def is_below_position(s, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if the offset `o` is below the committed offset of `p`, or below a pending
        offset of a committed transaction. The marker will commit this pending offset.
        """
        return (o < s.committed_offset[p]) | exists(
            all_of(s.committed[x], s.pending[x][p], o < s.pending_offset[x][p])
            for x in TransactionalId
        )

    def has_committed_effect(s, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if a reader has received the output record of the input at `o`, or will
        receive it after the marker of a committed transaction.
        """
        return s.received[p][o] | exists(
            s.committed[x] & s.written[x][p][o] for x in TransactionalId
        )

    @invariant
    def output_is_exact_when_settled(s) -> Bool:
        """While every committed or aborted transaction is complete, a reader has received exactly
        the output records of the inputs below the committed offset.
        """
        return implies(
            forall(~s.is_decided(x) for x in TransactionalId),
            forall(
                iff(o < s.committed_offset[p], s.received[p][o])
                for p in TopicPartition
                for o in Offset
            ),
        )

    # ---- witnesses

    @witness
    def an_effect_is_received(s) -> Bool:
        """Reachable: a reader has received the output record of an input, and the committed offset
        is above this input.
        """
        return exists(
            s.received[p][o] & (o < s.committed_offset[p]) for p in TopicPartition for o in Offset
        )

    @witness
    def a_second_owner_reads_on(s) -> Bool:
        """Reachable: a later owner of a partition has read past an input, and a reader has received
        the output record of this input.

        A later owner is an instance that did not own the partition in the first generation, when
        another instance owned it.
        """
        first = Generation.least()
        return exists(
            all_of(
                s.reads[i][p],
                s.is_current(i, p),
                s.owner[first][p] != i,
                s.owner[first][p] != nothing,
                o < s.position[i][p],
                s.received[p][o],
            )
            for i in Instance
            for p in TopicPartition
            for o in Offset
        )

    @witness
    def a_zombie_has_written(s) -> Bool:
        """Reachable: an instance has written output records in an open transaction, but the group
        coordinator would refuse its offsets.
        """
        return exists(
            all_of(
                s.written[x][p][o],
                ~s.is_decided(x),
                s.uses[i] == x,
                s.reads[i][p],
                ~s.is_current(i, p),
            )
            for i in Instance
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    @witness
    def an_aborted_offset_is_pending(s) -> Bool:
        """Reachable: a transaction is aborted, and its offset is still pending at the group
        coordinator.
        """
        return exists(
            s.aborted[x] & s.pending[x][p] for x in TransactionalId for p in TopicPartition
        )

    @witness
    def a_new_owner_waits(s) -> Bool:
        """Reachable: the owner of a partition may not read the partition yet, because an offset of
        another instance is pending.
        """
        return exists(
            all_of(
                s.owner[s.generation][p] == i,
                s.known_generation[i] == s.generation,
                ~s.reads[i][p],
                s.pending[x][p],
                ~s.may_use(i, x),
            )
            for i in Instance
            for x in TransactionalId
            for p in TopicPartition
        )
