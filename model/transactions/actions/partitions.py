"""The actions of partitions: their leaders append records and markers, and readers read.

A leader knows a producer by the records in its log. In its memory, it stores only which
transactions are verified: the coordinator has confirmed that the partition is in the transaction.
(Kafka calls these entries *verification guards*.) When the leader appends the producer's next
record or marker, the verification ends.

A read_committed reader stops at the *last stable offset*: the offset of the first record whose
transaction is open, or whose marker is not committed. An index lists the aborted records below the
last stable offset.

Source: KIP-98; KIP-890 part 1; KIP-1228; KAFKA-14884; KAFKA-18654; KAFKA-19999.
Simplified: a transaction sends one record to a partition. A record is not appended twice; the spec
`idempotence` has the sequences that prevent this.
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
    # ---- predicates over a log

    def is_record(s, p: TopicPartition, o: Offset) -> Bool:
        return (o < s.log[p].end_offset) & (s.log[p].record[o].outcome == nothing)

    def is_marker(s, p: TopicPartition, o: Offset) -> Bool:
        return (o < s.log[p].end_offset) & (s.log[p].record[o].outcome != nothing)

    def is_of(s, p: TopicPartition, o: Offset, producer_id: ProducerId) -> Bool:
        return (o < s.log[p].end_offset) & (s.log[p].record[o].producer_id == producer_id)

    def has_record(s, p: TopicPartition, k: Transaction) -> Bool:
        return exists(s.is_record(p, o) & (s.log[p].record[o].transaction == k) for o in Offset)

    def is_closed_below(s, p: TopicPartition, o: Offset, end: Offset) -> Bool:
        producer_id = s.log[p].record[o].producer_id
        return exists(
            all_of(o < m, m < end, s.is_marker(p, m), s.is_of(p, m, producer_id)) for m in Offset
        )

    def is_open(s, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if the offset `o` has a record whose transaction is open. A transaction is
        open until a marker of its producer id follows the record in the log.
        """
        return s.is_record(p, o) & ~s.is_closed_below(p, o, s.log[p].end_offset)

    def has_open(s, p: TopicPartition, producer_id: ProducerId) -> Bool:
        return exists(s.is_of(p, o, producer_id) & s.is_open(p, o) for o in Offset)

    def has_seen(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        return exists(
            s.is_of(p, o, i) & (s.log[p].record[o].producer_epoch == producer_epoch) for o in Offset
        )

    def fences(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if the log has a record or marker of the producer id `i` with a larger epoch
        than `producer_epoch`. The partition then refuses `producer_epoch` as too old.
        """
        return exists(
            s.is_of(p, o, i) & (producer_epoch < s.log[p].record[o].producer_epoch) for o in Offset
        )

    # ---- rules that versions and bugs replace

    def is_ongoing(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the partition has an open transaction with the producer id and epoch of
        `k`.

        If so, the leader need not verify the transaction with the coordinator. Without the
        comparison of epochs, the claim `markers_close_their_own` breaks (bug `ongoing-by-id`, 12
        steps).
        """
        stamp = s.stamp[k]
        open_here = s.has_open(p, stamp.producer_id)
        return open_here & s.has_seen(p, stamp.producer_id, stamp.producer_epoch)

    def may_append(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the transaction is open in the partition, or the leader has verified the
        transaction with the coordinator.
        """
        return s.is_ongoing(p, k) | s.verified[k][p]

    def accepts_marker(s, p: TopicPartition, i: ProducerId, producer_epoch: ProducerEpoch) -> Bool:
        """Returns True if the partition accepts a marker with this producer id and epoch.

        The log must have no larger epoch of the producer id. If the log already has a record or
        marker with the marker's epoch, the marker is late or repeated. It is then accepted only if
        no transaction of the producer is open. Up to Kafka 4.1, it is accepted although a
        transaction is open, and the claim `markers_close_their_own` breaks (version `lax-markers`,
        14 steps). If a repeated marker is refused, the claim `markers_are_accepted` breaks (bug
        `refuses-repeated-markers`, 10 steps).
        """
        return all_of(
            ~s.fences(p, i, producer_epoch),
            any_of(~s.has_seen(p, i, producer_epoch), ~s.has_open(p, i)),
        )

    def keeps_guard(s, k: Transaction, producer_id: ProducerId) -> Bool:
        """Returns True if the verification of transaction `k` stays valid after the leader has
        appended a record or marker of `producer_id`. It stays valid if `k` has another producer id.

        Without this rule, the claim `no_hanging_transaction` breaks (bug `keeps-guard`, 9 steps;
        KAFKA-14884).
        """
        return s.stamp[k].producer_id != producer_id

    def refusal(s, p: TopicPartition, k: Transaction) -> Error:
        """Returns the error with which the leader refuses a record with an old epoch. It is always
        FENCED, even if the transaction is not verified.
        """
        return FENCED

    def may_lead_with(s, p: TopicPartition, end: Offset) -> Bool:
        """Returns True if a new leader whose log ends at `end` has every committed record.

        Without this rule, the claim `no_hanging_transaction` breaks (bug `unclean-election`, 10
        steps).
        """
        return s.log[p].high_watermark <= end

    # ---- appending

    def append(s, p: TopicPartition, record: LogRecord) -> None:
        """Appends a record or marker to the log. Removes the verifications that the append
        invalidates.
        """
        end = s.log[p].end_offset
        for k in Transaction:
            s.verified[k][p] = s.verified[k][p] & s.keeps_guard(k, record.producer_id)
        s.log[p].record[end] = record
        s.log[p].end_offset = end + 1
        if not s.replication_lags:
            s.log[p].high_watermark = end + 1

    def is_in_flight(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the client has sent the record, and the log does not have the record yet.

        If the constant `records_late` is false, no record is in flight after the client has
        requested to end the transaction.
        """
        sent = s.sent[k][p] & ~s.has_record(p, k)
        return sent if s.records_late else sent & s.is_waiting(k)

    @action
    def append_record(s, p: TopicPartition, k: Transaction) -> None:
        """The leader appends a record of a transaction that is open in the partition or verified by
        the coordinator.

        Kafka: ProducerAppendInfo.append, UnifiedLog.append.
        Simplified: a transaction has one record per partition, and records have no sequences.

        Without verification, a late record opens a transaction that never ends, and the claim
        `no_hanging_transaction` breaks (version `v1`, 8 steps).
        """
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
        """The leader refuses a record with an old epoch, and the client closes.

        Kafka: ProducerAppendInfo.checkProducerEpoch, INVALID_PRODUCER_EPOCH.
        Simplified: the error is always fatal.

        The leader checks the epoch before it checks whether the transaction is verified. In the
        reverse order, a fenced producer gets another error, and the claim
        `the_fenced_get_a_fencing_error` breaks (bug `guard-before-epoch`, 7 steps).
        """
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
        return first(
            Offset,
            lambda o: s.is_of(p, o, producer_id) & s.is_open(p, o),
            default=s.log[p].end_offset,
        )

    def has_newer_marker(s, p: TopicPartition, i: ProducerId, epoch: CoordinatorEpoch) -> Bool:
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
        """The partition's high watermark grows by one record, and this record is committed.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: this action is all of replication. The spec `replication` has the details.

        Without the guard that the high watermark stays in the log, the claim
        `stable_offsets_do_not_go_back` breaks in 9 steps.
        """
        when(s.log[p].high_watermark < s.log[p].end_offset)
        s.log[p].high_watermark = s.log[p].high_watermark + 1

    def truncate(s, p: TopicPartition, end: Offset) -> None:
        """Removes the records from the offset `end` on. The partition's leader also forgets which
        transactions are verified.
        """
        for o in Offset:
            s.log[p].record[o] = ite(o < end, s.log[p].record[o], LogRecord.blank())
        s.log[p].end_offset = end
        s.log[p].high_watermark = least_of(s.log[p].high_watermark, end)
        for k in Transaction:
            s.verified[k][p] = False

    @action
    def change_leader(s, p: TopicPartition, end: Offset) -> None:
        """Another replica becomes leader. The records that the new leader lacks are truncated, and
        the new leader has not verified any transaction yet.

        Kafka: Partition.makeLeader; ProducerStateManager keeps verifications in memory.
        Simplified: the new leader's log is a prefix of the old leader's log.

        The new leader must have every committed record (`may_lead_with`). Without this guard, the
        claim `stable_offsets_do_not_go_back` breaks in 11 steps.
        """
        when(
            s.leader_epoch[p] < s.leader_changes,
            s.may_lead_with(p, end),
            end <= s.log[p].end_offset,
        )
        s.leader_epoch[p] = s.leader_epoch[p] + 1
        s.truncate(p, end)

    # ---- reading

    def last_stable_offset(s, p: TopicPartition) -> Offset:
        """Returns the last stable offset. This is the offset of the first record below the high
        watermark whose transaction has no marker below the high watermark.

        If there is no such record, returns the high watermark. A marker above the high watermark
        closes no transaction, because a new leader may lack this marker. If it closes a
        transaction, the claim `stable_offsets_do_not_go_back` breaks (bug `stable-at-first-open`,
        10 steps; KAFKA-5121).
        """
        end = s.log[p].high_watermark
        return first(
            Offset,
            lambda o: all_of(o < end, s.is_record(p, o), ~s.is_closed_below(p, o, end)),
            default=end,
        )

    def read_committed_end(s, p: TopicPartition) -> Offset:
        """Returns the offset at which a read_committed consumer stops: the last stable offset."""
        return s.last_stable_offset(p)

    def is_dropped(s, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if the index of aborted transactions has the record's transaction. Then
        read_committed consumers drop the record.
        """
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
        return all_of(o < s.read_committed_end(p), s.is_record(p, o), ~s.is_dropped(p, o))

    def is_read_uncommitted(s, p: TopicPartition, o: Offset) -> Bool:
        return (o < s.log[p].high_watermark) & s.is_record(p, o)
