"""The actions of the spec `read-committed-abstract`: the actions of a client, a coordinator, a
leader and a reader.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. No action is fair, because only safety is proved.

    client       begin
    coordinator  commit, abort
    leader       append_first, append_next, append_plain, write_marker, advance_high_watermark,
                 change_leader, restart
    reader       read
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    ite,
    true,
    when,
)
from model.read_committed_abstract.state import (
    AbstractReadCommittedState,
    LogRecord,
    Offset,
    Producer,
    Transaction,
)


class AbstractReadCommittedActions(AbstractReadCommittedState):
    """The actions of Kafka 4.3, with one rule that Kafka 4.3 does not have (`is_restored`)."""

    # ---- the client and the coordinator

    @action
    def begin(s, x: Transaction, producer: Producer) -> None:
        """A producer begins a transaction.

        Kafka: TransactionManager.beginTransaction.
        Simplified: a producer may begin a transaction while an earlier transaction is open.
        At the default constants, every claim also holds if one of the guards is left out.
        """
        when(~s.begun[x], ~s.plain[x])
        s.begun[x] = True
        s.producer[x] = producer

    @action
    def commit(s, x: Transaction) -> None:
        """The coordinator decides to commit a transaction.

        Kafka: TransactionCoordinator.handleEndTransaction.
        Simplified: the commit is never lost.
        Without the guard that the transaction is undecided, the claim
        `nothing_committed_is_skipped` breaks in 7 steps.
        """
        when(s.begun[x], ~s.is_decided(x))
        s.committed[x] = True

    @action
    def abort(s, x: Transaction) -> None:
        """The coordinator decides to abort a transaction.

        Kafka: TransactionCoordinator.handleEndTransaction and abortTimedOutTransactions.
        Simplified: the abort is never lost.
        Without the guard that the transaction is undecided, the claim
        `nothing_committed_is_skipped` breaks in 7 steps.
        """
        when(s.begun[x], ~s.is_decided(x))
        s.aborted[x] = True

    # ---- the leader's log

    def append(s, x: Transaction, is_marker: Bool, end: Offset) -> None:
        when(end.is_next_after(s.end_offset))
        s.record[s.end_offset] = LogRecord(transaction=x, is_marker=is_marker)
        s.end_offset = end

    def has_open(s, producer: Producer) -> Bool:
        return exists(s.is_open(y) & (s.producer[y] == producer) for y in Transaction)

    @action
    def append_first(s, x: Transaction, end: Offset) -> None:
        """The leader appends the first record of a transaction, even if the coordinator has already
        committed or aborted the transaction.

        Kafka: ProducerAppendInfo.append.
        Simplified: guards replace the verification of transactions and the check of epochs. The
        spec `transactions-abstract` has the check of epochs.
        Without the guard that the log has no record of the transaction yet, the claim
        `stable_offset_stops_at_open` breaks in 6 steps.
        """
        when(s.begun[x], ~s.written[x], ~s.has_open(s.producer[x]))
        s.written[x] = True
        s.first_offset[x] = s.end_offset
        s.append(x, false, end)

    @action
    def append_next(s, x: Transaction, end: Offset) -> None:
        """The leader appends another record of a transaction that is open in the log, even if the
        coordinator has already committed or aborted the transaction.

        Kafka: ProducerAppendInfo.append.
        Simplified: records have no sequence numbers.
        Without the guard that the transaction is open in the log, the claim
        `stable_offset_stops_at_open` breaks in 2 steps.
        """
        when(s.is_open(x))
        s.append(x, false, end)

    @action
    def append_plain(s, x: Transaction, end: Offset) -> None:
        """The leader appends a record outside of transactions.

        Kafka: UnifiedLog.appendAsLeader.
        Simplified: the record has no producer.
        Without the guard that the record is outside of transactions, the claim
        `nothing_committed_is_skipped` breaks in 7 steps.
        """
        when(~s.begun[x], ~s.plain[x])
        s.plain[x] = True
        s.append(x, false, end)

    def may_mark(s, x: Transaction) -> Bool:
        """Returns True if no other transaction of the producer of `x` is open in the log. Only then
        does the leader accept the marker of `x`.

        Kafka compares producer epochs; the spec `transactions-abstract` proves that this comparison
        suffices. Without this rule, the claim `only_committed_is_delivered` breaks (bug
        `late-markers`, 7 steps).
        """
        return forall(
            implies(s.is_open(y) & (s.producer[y] == s.producer[x]), x == y) for y in Transaction
        )

    @action
    def write_marker(s, x: Transaction, end: Offset) -> None:
        """The leader appends a marker. If the marker's producer has an open transaction, the marker
        ends this transaction.

        Kafka: ProducerAppendInfo.appendEndTxnMarker, ProducerStateManager.completeTxn and
        LogSegment.updateTxnIndex.
        Simplified: a marker stores no COMMIT or ABORT; the spec reads the outcome from the
        coordinator.
        Without the guard that the transaction is decided, the claim `only_committed_is_delivered`
        breaks in 5 steps.
        """
        when(s.is_decided(x), s.may_mark(x))
        for y in Transaction:
            ends = s.is_open(y) & (s.producer[y] == s.producer[x])
            s.unreplicated[y] = s.unreplicated[y] | ends
            s.listed[y] = s.listed[y] | ends & s.aborted[x]
            s.closed[y] = s.closed[y] | ends
            s.marker_offset[y] = ite(ends, s.end_offset, s.marker_offset[y])
        s.append(x, true, end)

    # ---- replication

    @action
    def advance_high_watermark(s, mark: Offset) -> None:
        """The high watermark grows. The leader forgets each transaction whose marker is now below
        the high watermark.

        Kafka: ProducerStateManager.onHighWatermarkUpdated.
        Simplified: the spec has no followers.
        Without the guard that the high watermark is in the log, the claim
        `only_committed_is_delivered` breaks in 2 steps.
        """
        when(s.high_watermark < mark, mark <= s.end_offset)
        s.high_watermark = mark
        for x in Transaction:
            s.unreplicated[x] = s.unreplicated[x] & (mark <= s.marker_offset[x])

    def may_lead_with(s, end: Offset) -> Bool:
        """Returns True if a new leader whose log ends at `end` has every record below the high
        watermark.

        Without this rule, the claim `only_committed_is_delivered` breaks (bug `unclean-election`, 4
        steps).
        """
        return s.high_watermark <= end

    @action
    def change_leader(s, end: Offset) -> None:
        """A replica becomes leader. Its log ends at `end`, so it may lack records and markers of
        the old leader's log.

        Kafka: Partition.makeLeader.
        Simplified: the new leader rebuilds its producer state and its index from its whole log.
        Without the guard that the new leader's log is not longer than the old leader's log, the
        claim `stable_offset_stops_at_open` breaks in 2 steps.
        """
        when(s.may_lead_with(end), end <= s.end_offset)
        s.end_offset = end
        for x in Transaction:
            is_closed = s.closed[x] & (s.marker_offset[x] < end)
            s.written[x] = s.written[x] & (s.first_offset[x] < end)
            s.closed[x] = is_closed
            s.listed[x] = s.listed[x] & is_closed
            s.unreplicated[x] = is_closed & (s.high_watermark <= s.marker_offset[x])

    def is_restored(s, x: Transaction) -> Bool:
        """Returns True always: a restarted leader knows that the marker of `x` is not replicated.

        Without this rule, the claim `stable_offset_never_goes_back` breaks (version `kafka-4.3`, 8
        steps).
        """
        return true

    @action
    def restart(s) -> None:
        """The leader restarts cleanly, and leads again with the same log.

        Kafka: ProducerStateManager.writeSnapshot and loadProducerEntry.
        Simplified: the leader retains its high watermark.
        The action has no guard. The rule `is_restored` decides what the leader remembers.
        """
        for x in Transaction:
            s.unreplicated[x] = s.unreplicated[x] & s.is_restored(x)

    # ---- the reader

    def is_replicated(s, o: Offset) -> Bool:
        """Returns True if the offset `o` is below the high watermark. Readers read no other
        offsets.

        Without this rule, the claim `only_committed_is_delivered` breaks (bug
        `ignores-high-watermark`, 3 steps).
        """
        return o < s.high_watermark

    def is_unstable(s, x: Transaction) -> Bool:
        """Returns True if the transaction `x` is open, or if the marker that ended it is not
        replicated.

        If only open transactions are unstable, the claim `stable_offset_never_goes_back` breaks
        (bug `stable-at-first-open`, 7 steps).
        """
        return s.is_open(x) | s.unreplicated[x]

    def is_stable(s, o: Offset) -> Bool:
        """Returns True if the offset `o` is below the last stable offset. The last stable offset is
        the lowest of the high watermark and the first offsets of unstable transactions.

        Kafka: UnifiedLog.lastStableOffset.
        If the offset only has to be below the first offset of the last unstable transaction, the
        claim `stable_offset_stops_at_open` breaks (bug `stable-at-last-open`, 5 steps).
        """
        return all_of(
            s.is_replicated(o),
            forall(implies(s.is_unstable(x), o < s.first_offset[x]) for x in Transaction),
        )

    def is_listed(s, x: Transaction, o: Offset) -> Bool:
        """Returns True if the fetch response lists `x` as an aborted transaction, and `o` is
        between the first record and the marker of `x`.

        Kafka: TransactionIndex.collectAbortedTxns.
        If the response does not list transactions that began before the fetch offset, the claim
        `only_committed_is_delivered` breaks (bug `lists-from-fetch-offset`, 8 steps).
        """
        return all_of(s.listed[x], s.first_offset[x] <= o, o < s.marker_offset[x])

    def is_dropped(s, o: Offset) -> Bool:
        """Returns True if the reader drops the record at the offset `o`, because the record is
        inside an aborted transaction of its producer.

        Kafka: CompletedFetch.consumeAbortedTransactionsUpTo and isBatchAborted.
        Without this rule, the claim `only_committed_is_delivered` breaks (bug
        `ignores-aborted-list`, 6 steps).
        """
        return s.is_transactional(o) & exists(
            s.is_listed(x, o) & s.is_of(o, s.producer[x]) for x in Transaction
        )

    @action
    def read(s, after: Offset) -> None:
        """The reader moves past the record at its position. It delivers this record, unless the
        record is a marker or belongs to a transaction in the list of aborted transactions
        (`is_dropped`).

        Kafka: CompletedFetch.nextFetchedRecord.
        Simplified: each fetch returns one record.
        Without the guard that the position is below the last stable offset (`is_stable`), the claim
        `nothing_committed_is_skipped` breaks in 6 steps.
        """
        at = s.position
        when(after.is_next_after(at), s.is_stable(at))
        s.delivered[at] = ~s.record[at].is_marker & ~s.is_dropped(at)
        s.received[at] = s.record[at].transaction
        s.position = after
