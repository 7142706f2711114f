"""The claims of the abstract spec of reads at read_committed, and the lemmas of their proof."""

from __future__ import annotations

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
from model.read_committed_abstract.actions import AbstractReadCommittedActions
from model.read_committed_abstract.state import Offset, Transaction


class AbstractDeliveries(AbstractReadCommittedActions):
    """Three claims that hold in Kafka 4.3, and the lemmas that prove them for any number of
    records.

    The first two claims imply: below its position, the reader has received exactly the valid
    records (`is_valid`). So the received records are a prefix of the committed records, in log
    order.
    """

    # ---- claims

    @invariant
    def only_committed_is_delivered(s) -> Bool:
        """Every delivered record is still in the log, and belongs to a committed transaction or to
        none.
        """
        return forall(
            implies(
                s.delivered[o],
                all_of(
                    s.has_data(o),
                    s.record[o].transaction == s.received[o],
                    s.is_valid(s.received[o]),
                ),
            )
            for o in Offset
        )

    @invariant
    def nothing_committed_is_skipped(s) -> Bool:
        """Below the reader's position, every record that is committed or outside of transactions
        was delivered.
        """
        return forall(
            implies(
                all_of(o < s.position, s.has_data(o), s.is_valid(s.record[o].transaction)),
                s.delivered[o],
            )
            for o in Offset
        )

    @invariant
    def stable_offset_stops_at_open(s) -> Bool:
        """The last stable offset never passes a record of an open transaction.

        That is, a marker of the producer follows each transactional record below the last stable
        offset.
        """
        return forall(
            implies(
                s.is_stable(o) & s.is_transactional(o),
                exists(
                    all_of(
                        o < m,
                        m < s.end_offset,
                        s.record[m].is_marker,
                        s.is_of(m, s.producer[s.record[o].transaction]),
                    )
                    for m in Offset
                ),
            )
            for o in Offset
        )

    # ---- witnesses

    @witness
    def a_committed_record_is_delivered(s) -> Bool:
        """Reachable: a record is delivered."""
        return exists(s.delivered[o] for o in Offset)

    @witness
    def an_aborted_record_is_passed(s) -> Bool:
        """Reachable: the reader has passed a record of an aborted transaction."""
        return exists(
            all_of(o < s.position, s.has_data(o), s.aborted[s.record[o].transaction])
            for o in Offset
        )

    @witness
    def a_marker_waits_for_replication(s) -> Bool:
        """Reachable: a record is replicated, its marker is not, and the reader must wait."""
        return exists(
            all_of(s.unreplicated[x], s.first_offset[x] < s.high_watermark) for x in Transaction
        )

    @witness
    def a_producer_goes_on(s) -> Bool:
        """Reachable: a producer's second transaction is open after the marker of its first one."""
        return exists(
            all_of(s.closed[x], s.is_open(y), s.producer[x] == s.producer[y])
            for x in Transaction
            for y in Transaction
        )

    # ---- lemmas

    @lemma
    def replicated_is_written(s) -> Bool:
        """The high watermark is at most the end of the log.

        The lemma is true because a new leader has every replicated record.
        """
        return s.high_watermark <= s.end_offset

    @lemma
    def one_decision(s) -> Bool:
        """A committed or aborted transaction has begun, and no transaction is both.

        The lemma is true because the coordinator commits or aborts only a transaction that has
        begun, and only once. A record outside of transactions begins no transaction.
        """
        return forall(
            all_of(
                ~(s.committed[x] & s.aborted[x]),
                implies(s.is_decided(x), s.begun[x]),
                ~(s.begun[x] & s.plain[x]),
            )
            for x in Transaction
        )

    @lemma
    def only_begun_is_written(s) -> Bool:
        """Every marker and every transactional record belong to a transaction that has begun.

        The lemma is true because the actions that append require this.
        """
        return forall(implies(s.written[x], s.begun[x]) for x in Transaction) & forall(
            implies(
                o < s.end_offset,
                s.begun[s.record[o].transaction] | s.has_data(o) & ~s.is_transactional(o),
            )
            for o in Offset
        )

    @lemma
    def records_lie_within(s) -> Bool:
        """The records of a transaction lie between its first offset and the marker that ends it.

        The lemma is true because a transaction gets no more records after its marker.
        """
        return forall(
            implies(
                s.is_transactional(o) & (s.record[o].transaction == x),
                all_of(
                    s.written[x],
                    s.first_offset[x] <= o,
                    implies(s.closed[x], o < s.marker_offset[x]),
                ),
            )
            for o in Offset
            for x in Transaction
        )

    @lemma
    def transactions_are_in_the_log(s) -> Bool:
        """If a transaction is written, its first record is in the log. If it also has a marker, the
        marker is a later record of the same producer.

        The lemma is true because a new leader forgets the transactions and markers that its log
        lacks.
        """
        return forall(
            all_of(
                implies(s.written[x], s.first_offset[x] < s.end_offset),
                implies(s.listed[x], s.closed[x]),
                implies(
                    s.closed[x],
                    all_of(
                        s.written[x],
                        s.first_offset[x] < s.marker_offset[x],
                        s.marker_offset[x] < s.end_offset,
                        s.record[s.marker_offset[x]].is_marker,
                        s.is_of(s.marker_offset[x], s.producer[x]),
                    ),
                ),
            )
            for x in Transaction
        )

    @lemma
    def one_after_another(s) -> Bool:
        """A producer's transaction begins in the log only after the marker of the producer's
        previous transaction.

        The lemma is true because a transaction begins in the log only while its producer has no
        other open transaction in the log. So no record lies inside another transaction of its
        producer.
        """
        return forall(
            implies(
                all_of(s.written[x], s.written[y], x != y, s.producer[x] == s.producer[y]),
                any_of(
                    s.closed[x] & (s.marker_offset[x] < s.first_offset[y]),
                    s.closed[y] & (s.marker_offset[y] < s.first_offset[x]),
                ),
            )
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def closed_as_decided(s) -> Bool:
        """A transaction whose marker is in the log is committed or aborted, and it is in the
        transaction index if and only if it is aborted.

        The lemma is true because the leader appends a marker only for a committed or aborted
        transaction, and only if no other transaction of its producer is open. So the marker ends no
        other transaction.
        """
        return forall(
            implies(s.closed[x], s.is_decided(x) & iff(s.listed[x], s.aborted[x]))
            for x in Transaction
        )

    @lemma
    def delivered_is_passed(s) -> Bool:
        """The reader has received only records below its position.

        The lemma is true because each read moves the position past the record.
        """
        return forall(implies(s.delivered[o], o < s.position) for o in Offset)

    @lemma
    def passed_is_decided(s) -> Bool:
        """Each record below the reader's position is replicated, and its transaction is committed
        or aborted.

        The lemma is true because the reader passes only stable offsets, and a commit or abort is
        final. The marker may be lost with its leader; then the coordinator writes it again.
        """
        return (s.position <= s.high_watermark) & forall(
            implies(
                (o < s.position) & s.is_transactional(o),
                s.is_decided(s.record[o].transaction),
            )
            for o in Offset
        )


class AbstractReadCommitted(AbstractDeliveries):
    """Adds the claim that the last stable offset never goes back, and a lemma that proves the
    claim.
    """

    @invariant
    def stable_offset_never_goes_back(s) -> Bool:
        """The last stable offset is never below the position of a reader.

        A reader may be at the last stable offset itself. If this offset then went back, it would be
        below the reader's position, and the claim would be false.
        """
        return forall(implies(o < s.position, s.is_stable(o)) for o in Offset)

    @lemma
    def memory_is_the_log(s) -> Bool:
        """The leader remembers exactly the transactions whose marker is not replicated.

        The lemma is true because a leader that restarts finds these transactions again. A leader of
        Kafka 4.3 forgets them.
        """
        return forall(
            iff(s.unreplicated[x], s.closed[x] & (s.high_watermark <= s.marker_offset[x]))
            for x in Transaction
        )
