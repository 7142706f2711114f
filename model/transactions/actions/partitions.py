"""Partitions: what their leaders append, how far it is committed, and what a reader is given.

What a leader knows of a producer is a function of its log, so every new leader knows it again; but
which transactions were verified it keeps in memory. A *guard* stands for one verification: a record
or a marker of the producer removes it, and what was verified under it may not be appended any more.

The *last stable offset* is where a reader of committed data stops: before the first record whose
transaction is open, or whose marker is not committed. Below it, an index says what was aborted.

Source: KIP-98; KIP-890 part 1; KIP-1228; KAFKA-14884; KAFKA-18654; KAFKA-19999.
Simplified: a transaction sends one record to a partition; a record that is in the log is not
appended again (sequences, which say so, are the spec idempotence).
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    exists,
    first,
    ite,
    least_of,
    nothing,
    when,
)
from model.transactions.state import (
    ABORT,
    FENCED,
    CoordinatorEpoch,
    Error,
    Instance,
    LogRecord,
    Offset,
    ProducerEpoch,
    ProducerId,
    State,
    TopicPartition,
    Transaction,
)


class Partitions(State):
    """Appending to a partition, by the rules of today."""

    # ---- what is in a log

    def is_record(s, p: TopicPartition, o: Offset) -> Bool:
        return (o < s.log[p].end_offset) & (s.log[p].record[o].outcome == nothing)

    def is_marker(s, p: TopicPartition, o: Offset) -> Bool:
        return (o < s.log[p].end_offset) & (s.log[p].record[o].outcome != nothing)

    def is_of(s, p: TopicPartition, o: Offset, producer_id: ProducerId) -> Bool:
        return (o < s.log[p].end_offset) & (s.log[p].record[o].producer_id == producer_id)

    def has_record(s, p: TopicPartition, k: Transaction) -> Bool:
        return exists(s.is_record(p, o) & (s.log[p].record[o].transaction == k) for o in Offset)

    def is_closed_below(s, p: TopicPartition, o: Offset, end: Offset) -> Bool:
        """Between the record and the end there is a marker of its producer."""
        producer_id = s.log[p].record[o].producer_id
        return exists(
            all_of(o < m, m < end, s.is_marker(p, m), s.is_of(p, m, producer_id)) for m in Offset
        )

    def is_open(s, p: TopicPartition, o: Offset) -> Bool:
        return s.is_record(p, o) & ~s.is_closed_below(p, o, s.log[p].end_offset)

    def has_open(s, p: TopicPartition, producer_id: ProducerId) -> Bool:
        return exists(s.is_of(p, o, producer_id) & s.is_open(p, o) for o in Offset)

    def has_seen(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        return exists(
            s.is_of(p, o, i) & (s.log[p].record[o].producer_epoch == producer_epoch) for o in Offset
        )

    def fences(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """The log holds a larger epoch of the producer."""
        return exists(
            s.is_of(p, o, i) & (producer_epoch < s.log[p].record[o].producer_epoch) for o in Offset
        )

    # ---- the rules that versions differ in

    def is_ongoing(s, p: TopicPartition, k: Transaction) -> Bool:
        """The leader has a transaction of this producer and epoch open: it asks nobody."""
        stamp = s.stamp[k]
        open_here = s.has_open(p, stamp.producer_id)
        return open_here & s.has_seen(p, stamp.producer_id, stamp.producer_epoch)

    def may_append(s, p: TopicPartition, k: Transaction) -> Bool:
        return s.is_ongoing(p, k) | s.verified[k][p]

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """A marker's epoch is new to the partition; or it comes again, and there is nothing open.

        Under an epoch that has records, a marker is one of the transaction before.
        """
        return all_of(
            ~s.fences(p, i, producer_epoch),
            any_of(~s.has_seen(p, i, producer_epoch), ~s.has_open(p, i)),
        )

    def keeps_guard(s, k: Transaction, producer_id: ProducerId) -> Bool:
        """A record or marker of this producer leaves what was verified for the transaction."""
        return s.stamp[k].producer_id != producer_id

    def refusal(s, p: TopicPartition, k: Transaction) -> Error:
        """Why a record is refused whose epoch is old: the epoch is tested first."""
        return FENCED

    def may_lead_with(s, p: TopicPartition, end: Offset) -> Bool:
        """A new leader has what is committed."""
        return s.log[p].high_watermark <= end

    # ---- appending

    def append(s, p: TopicPartition, record: LogRecord) -> None:
        end = s.log[p].end_offset
        for k in Transaction:
            s.verified[k][p] = s.verified[k][p] & s.keeps_guard(k, record.producer_id)
        s.log[p].record[end] = record
        s.log[p].end_offset = end + 1
        if not s.replication_lags:
            s.log[p].high_watermark = end + 1

    def is_in_flight(s, p: TopicPartition, k: Transaction) -> Bool:
        """The record was sent and is not in the log: it comes late, if its client has gone on."""
        sent = s.sent[k][p] & ~s.has_record(p, k)
        return sent if s.records_late else sent & s.is_waiting(k)

    @action
    def append_record(s, p: TopicPartition, k: Transaction) -> None:
        """The leader appends a record of a transaction that it may take for ongoing."""
        stamp = s.stamp[k]
        when(
            s.is_in_flight(p, k),
            ~s.fences(p, stamp.producer_id, stamp.producer_epoch),
            s.may_append(p, k),
        )
        s.append(
            p,
            LogRecord(
                outcome=nothing,
                producer_id=stamp.producer_id,
                producer_epoch=stamp.producer_epoch,
                coordinator_epoch=CoordinatorEpoch(0),
                first_offset=s.log[p].end_offset,
                transaction=k,
            ),
        )

    @action
    def refuse_record(s, p: TopicPartition, k: Transaction, i: Instance) -> None:
        """The leader refuses a record of an old epoch, and its client gives up."""
        stamp = s.stamp[k]
        when(
            s.owner[k] == i,
            s.is_waiting(k),
            s.sent[k][p],
            ~s.has_record(p, k),
            s.fences(p, stamp.producer_id, stamp.producer_epoch),
        )
        s.producer[i].error = s.refusal(p, k)

    def first_open(s, p: TopicPartition, producer_id: ProducerId) -> Offset:
        """The first offset that a marker closes; the end if none is open."""
        return first(
            Offset,
            lambda o: s.is_of(p, o, producer_id) & s.is_open(p, o),
            default=s.log[p].end_offset,
        )

    def has_newer_marker(s, p: TopicPartition, i: ProducerId, epoch: CoordinatorEpoch) -> Bool:
        """The log holds a marker for the producer from a later coordinator."""
        return exists(
            all_of(
                s.is_marker(p, o),
                s.is_of(p, o, i),
                epoch < s.log[p].record[o].coordinator_epoch,
            )
            for o in Offset
        )

    def put_marker(s, p: TopicPartition, k: Transaction, epoch: CoordinatorEpoch) -> None:
        stamp, outcome = s.marker_stamp[k], s.decided[k]
        when(
            s.marker_sent[k][epoch],
            s.addressed[k][p],
            s.accepts_marker(p, stamp.producer_id, stamp.producer_epoch),
            ~s.has_newer_marker(p, stamp.producer_id, epoch),
        )
        opened, end = s.first_open(p, stamp.producer_id), s.log[p].end_offset
        s.append(
            p,
            LogRecord(
                outcome=outcome,
                producer_id=stamp.producer_id,
                producer_epoch=stamp.producer_epoch,
                coordinator_epoch=epoch,
                first_offset=ite(outcome == ABORT, opened, end),
                transaction=k,
            ),
        )

    def has_marker(
        s, p: TopicPartition, k: Transaction, epoch: CoordinatorEpoch, end: Offset
    ) -> Bool:
        """Below the end is a marker of the transaction, from the coordinator of this epoch."""
        return exists(
            all_of(
                o < end,
                s.is_marker(p, o),
                s.log[p].record[o].transaction == k,
                s.log[p].record[o].coordinator_epoch == epoch,
            )
            for o in Offset
        )

    # ---- replication

    @action(fair="weak")
    def advance_high_watermark(s, p: TopicPartition) -> None:
        """One more record is committed."""
        when(s.log[p].high_watermark < s.log[p].end_offset)
        s.log[p].high_watermark = s.log[p].high_watermark + 1

    @action
    def change_leader(s, p: TopicPartition, end: Offset) -> None:
        """Another replica leads: what it lacks is cut off, and nothing is verified."""
        when(
            s.leader_epoch[p] < s.leader_changes,
            s.may_lead_with(p, end),
            end <= s.log[p].end_offset,
        )
        s.leader_epoch[p] = s.leader_epoch[p] + 1
        for o in Offset:
            s.log[p].record[o] = ite(o < end, s.log[p].record[o], LogRecord.blank())
        s.log[p].end_offset = end
        s.log[p].high_watermark = least_of(s.log[p].high_watermark, end)
        for k in Transaction:
            s.verified[k][p] = False

    # ---- reading

    def last_stable_offset(s, p: TopicPartition) -> Offset:
        """The first committed record whose marker is not: or else the high watermark."""
        end = s.log[p].high_watermark
        return first(
            Offset,
            lambda o: all_of(o < end, s.is_record(p, o), ~s.is_closed_below(p, o, end)),
            default=end,
        )

    def read_committed_end(s, p: TopicPartition) -> Offset:
        """How far a reader of committed data has read, at most."""
        return s.last_stable_offset(p)

    def is_dropped(s, p: TopicPartition, o: Offset) -> Bool:
        """An entry of the index of aborted transactions covers the record."""
        producer_id = s.log[p].record[o].producer_id
        return exists(
            all_of(
                o < m,
                s.is_marker(p, m),
                s.is_of(p, m, producer_id),
                s.log[p].record[m].first_offset <= o,
            )
            for m in Offset
        )

    def is_read_committed(s, p: TopicPartition, o: Offset) -> Bool:
        """A reader of committed data is given the record."""
        return all_of(o < s.read_committed_end(p), s.is_record(p, o), ~s.is_dropped(p, o))

    def is_read_uncommitted(s, p: TopicPartition, o: Offset) -> Bool:
        """A reader of all data is given the record."""
        return (o < s.log[p].high_watermark) & s.is_record(p, o)
