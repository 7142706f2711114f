"""The state of the spec `read-committed-abstract`: one partition, its coordinator, and one reader.

The log is the log of the present leader. The leader derives the last stable offset from two sets of
transactions: the open transactions, and the transactions whose marker is not replicated. The spec
has only one reader, because a reader changes neither the log nor the state of other readers.

Source: KIP-98; ProducerStateManager.firstUnstableOffset, UnifiedLog.lastStableOffset and
TransactionIndex.collectAbortedTxns of Kafka 4.3.
Simplified: a batch is one record. The log of a new leader is a prefix of the old leader's log. The
high watermark never goes back; in Kafka, the high watermark of a new leader may be lower for a
round of fetches. The coordinator never fails. No record is deleted. The reader begins at the least
offset.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Ordered, Record, Scope, Set, Sort, Spec


class Producer(Sort):
    pass


class Transaction(Sort):
    """One transaction of a producer, or one record outside of transactions."""


class Offset(Ordered):
    """A position in the log, or the end of the log."""


class LogRecord(Record):
    """A record of the log: a record of a client, or a marker."""

    transaction: Transaction
    is_marker: Bool  # it commits or aborts, as the coordinator has decided its transaction


class AbstractReadCommittedState(Spec):
    producers: Annotated[int, range(1, 10)] = 1
    transactions: Annotated[int, range(1, 10)] = 2
    offsets: Annotated[int, range(2, 10)] = 4

    plain: Set[Transaction]  # it is no transaction, but one record outside of transactions

    # the coordinator
    begun: Set[Transaction]
    producer: Map[Transaction, Producer]
    committed: Set[Transaction]
    aborted: Set[Transaction]

    # the leader's log
    record: Map[Offset, LogRecord]
    end_offset: Offset
    high_watermark: Offset

    # what the leader derives from its log
    written: Set[Transaction]  # the log has a record of it
    first_offset: Map[Transaction, Offset]  # of its records
    closed: Set[Transaction]  # a marker in the log ended it
    marker_offset: Map[Transaction, Offset]  # of this marker
    listed: Set[Transaction]  # it is in the index of aborted transactions

    # what only the leader's memory has
    unreplicated: Set[Transaction]  # closed by a marker that is not below the high watermark

    # the reader
    position: Offset
    delivered: Set[Offset]
    received: Map[Offset, Transaction]  # whose record it received at the offset

    def scope(s) -> Scope:
        return {
            Producer: s.producers,
            Transaction: s.transactions,
            Offset: s.offsets,
        }

    def init(s, someone: Producer, some: Transaction) -> None:
        for x in Transaction:
            s.producer[x] = someone  # unused until x begins
        for o in Offset:
            s.record[o].transaction = some  # unused from the end offset on
            s.received[o] = some  # unused until the record is delivered

    # ---- predicates over the log

    def has_data(s, o: Offset) -> Bool:
        return (o < s.end_offset) & ~s.record[o].is_marker

    def is_of(s, o: Offset, producer: Producer) -> Bool:
        return s.producer[s.record[o].transaction] == producer

    def is_open(s, x: Transaction) -> Bool:
        """Returns True if the log has a record of `x` but no marker that ends `x`."""
        return s.written[x] & ~s.closed[x]

    def is_decided(s, x: Transaction) -> Bool:
        return s.committed[x] | s.aborted[x]

    def is_transactional(s, o: Offset) -> Bool:
        return s.has_data(o) & ~s.plain[s.record[o].transaction]

    def is_valid(s, x: Transaction) -> Bool:
        """Returns True if `x` is a committed transaction, or one record outside of transactions.
        Readers must receive the records of such an `x`.
        """
        return s.plain[x] | s.committed[x]
