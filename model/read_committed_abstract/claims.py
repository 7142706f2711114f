"""The claims of the spec `read-committed-abstract`, and the lemmas of their proof."""

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

    The claims `only_committed_is_delivered` and `nothing_committed_is_skipped` imply that the
    received records are a prefix of the records that readers must receive, in log order.
    """

    # ---- claims

    @invariant
    def only_committed_is_delivered(s) -> Bool:
        """Every delivered record is still in the log, and belongs to a committed transaction or to
        no transaction.
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
        """The reader has received every committed record, and every record outside of transactions,
        that is below the reader's position.
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
        """The last stable offset never passes a record of an open transaction."""
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
        """Reachable: the reader has received a record."""
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
        """Reachable: the first record of a transaction is replicated, but its marker is not, so the
        reader must wait.
        """
        return exists(
            all_of(s.unreplicated[x], s.first_offset[x] < s.high_watermark) for x in Transaction
        )

    @witness
    def a_producer_goes_on(s) -> Bool:
        """Reachable: a producer's second transaction is open, after the marker of the producer's
        first transaction.
        """
        return exists(
            all_of(s.closed[x], s.is_open(y), s.producer[x] == s.producer[y])
            for x in Transaction
            for y in Transaction
        )

    # ---- lemmas

    @lemma
    def replicated_is_written(s) -> Bool:
        """The high watermark is at most the end of the log.

        The lemma stays true at a change of leader, because a new leader has every replicated
        record.
        """
        return s.high_watermark <= s.end_offset

    @lemma
    def one_decision(s) -> Bool:
        """A committed or aborted transaction has begun, and no transaction is both committed and
        aborted.

        The lemma is true because the coordinator decides a transaction only after it has begun, and
        only one time. A record outside of transactions never begins a transaction.
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
        """Every marker and every transactional record belongs to a transaction that has begun."""
        return forall(implies(s.written[x], s.begun[x]) for x in Transaction) & forall(
            implies(
                o < s.end_offset,
                s.begun[s.record[o].transaction] | s.has_data(o) & ~s.is_transactional(o),
            )
            for o in Offset
        )

    @lemma
    def records_lie_within(s) -> Bool:
        """Each record of a transaction is at or after the transaction's first offset, and before
        the marker that ends the transaction.
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
        """The first record of each transaction in the set `written` is below the log's end. The
        marker of each transaction in the set `closed` is a later record of the same producer.

        The lemma is true because a new leader removes the transactions and markers that its log
        does not have.
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

        So no record is inside another transaction of its producer.
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
        """If the log has a marker that ended a transaction, the transaction is committed or
        aborted. It is in the transaction index if and only if it is aborted.

        The lemma is true because a marker ends only its own transaction: no other transaction of
        its producer is open.
        """
        return forall(
            implies(s.closed[x], s.is_decided(x) & iff(s.listed[x], s.aborted[x]))
            for x in Transaction
        )

    @lemma
    def delivered_is_passed(s) -> Bool:
        """The reader has received only records below its position."""
        return forall(implies(s.delivered[o], o < s.position) for o in Offset)

    @lemma
    def passed_is_decided(s) -> Bool:
        """Each record below the reader's position is replicated, and its transaction is committed
        or aborted.

        This stays true if a marker is lost with its leader: the coordinator writes the same marker
        again.
        """
        return (s.position <= s.high_watermark) & forall(
            implies(
                (o < s.position) & s.is_transactional(o),
                s.is_decided(s.record[o].transaction),
            )
            for o in Offset
        )


class AbstractReadCommitted(AbstractDeliveries):
    @invariant
    def stable_offset_never_goes_back(s) -> Bool:
        """The last stable offset is never below the position of a reader.

        A reader may be at the last stable offset itself, so the last stable offset never goes back.
        """
        return forall(implies(o < s.position, s.is_stable(o)) for o in Offset)

    @lemma
    def memory_is_the_log(s) -> Bool:
        """The leader remembers exactly the transactions whose marker is not replicated.

        The lemma is false in Kafka 4.3: there, a leader forgets these transactions when it
        restarts.
        """
        return forall(
            iff(s.unreplicated[x], s.closed[x] & (s.high_watermark <= s.marker_offset[x]))
            for x in Transaction
        )
