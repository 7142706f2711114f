"""Transactions that are open at the end of a log; some of them will never end.

The coordinator ends an open transaction when the timeout of the transaction is over. But if the
coordinator does not know an open transaction, the transaction *hangs*: nothing ends it, and readers
at read_committed wait for it forever. The producer of an open transaction may be missing in every
available log of a coordinator. Such a transaction is treated as hanging if it is older than the
longest timeout. For each topic partition, only the replica with the highest log end is checked.

Source: KIP-664, which finds hanging transactions in the same way; KIP-890.
Simplified: the current time is the timestamp of the newest batch in any log. If
`transaction.max.timeout.ms` is set to a value above the default, the check ignores the setting. If
an available partition of `__transaction_state` (the log of the coordinators) has the producer, the
producer's newest entry decides, even if other partitions of this topic are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from properties.log_audit.check import Check, Location, location
from properties.log_audit.log import Batch, CoordinatorEntry, Logs, ReplicaLog, by_producer
from properties.log_audit.transactions import is_data

LONGEST_MS: Final = 15 * 60_000  # transaction.max.timeout.ms, by default
IN_TIME: Final = "its timeout is not over"
UNDER_WAY: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
UNNAMED: Final = "?"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OpenTransaction(Location):
    """A transaction without a marker. Its location is the first batch of the transaction.

    `why` is the evidence that the transaction may still end, or that it will never end.
    """

    producer_id: int
    producer_epoch: int
    transactional_id: str  # `?`: in no coordinator's log
    last_offset: int
    why: str


def open_transactions(logs: Logs) -> tuple[OpenTransaction, ...]:
    """Returns the open transactions that may still end. Hanging transactions are not included."""
    return tuple(sorted(row for hangs, row in _open(logs) if not hangs))


def hanging_transactions(logs: Logs) -> tuple[OpenTransaction, ...]:
    return tuple(sorted(row for hangs, row in _open(logs) if hangs))


def furthest(logs: Logs) -> Iterator[ReplicaLog]:
    """Yields one replica for each topic partition: the replica with the highest log end.

    If several replicas have the highest log end, the function yields the first of them by name.
    """
    for replicas in logs.partitions().values():
        yield max(replicas, key=lambda log: log.end_offset)


def _open(logs: Logs) -> Iterator[tuple[bool, OpenTransaction]]:
    newest_ms = max(
        (batch.max_timestamp_ms for log in logs.replicas for batch in log.sound), default=0
    )
    coordinated = {one.producer_id: one for one in logs.coordinated}
    for log in furthest(logs):
        for producer_id, batches in by_producer(log.sound).items():
            if is_data(batches[-1]):
                known = coordinated.get(producer_id)
                first, last = _first_open(batches), batches[-1]
                hangs, why = hangs_because(
                    log.metadata.partition,
                    last.producer_epoch,
                    newest_ms - last.max_timestamp_ms,
                    known,
                )
                yield (
                    hangs,
                    OpenTransaction(
                        **location(log, first),
                        producer_id=producer_id,
                        producer_epoch=last.producer_epoch,
                        transactional_id=known.transactional_id if known else UNNAMED,
                        last_offset=last.last_offset,
                        why=why,
                    ),
                )


def _first_open(batches: list[Batch]) -> Batch:
    markers = [n for n, batch in enumerate(batches) if batch.marker]
    return next(b for b in batches[markers[-1] + 1 if markers else 0 :] if is_data(b))


def hangs_because(
    partition: str, producer_epoch: int, idle_ms: int, known: CoordinatorEntry | None
) -> tuple[bool, str]:
    """Returns two values: True if an open transaction will never end (otherwise False), and the
    evidence as text.

    `idle_ms` is the time from the producer's last batch to the newest batch of all logs. `known` is
    the newest entry of the producer's transactional id in the coordinator's log. It is None if no
    available log has such an entry.
    """
    if known is not None:
        under_way = known.state in UNDER_WAY and partition in known.partitions
        ended = known.state != "Ongoing"  # its marker may have the next producer epoch
        is_same = known.producer_epoch in (producer_epoch, producer_epoch + ended)
        state = f"the coordinator has {known.state} at producer epoch {known.producer_epoch}"
        if under_way and is_same:
            return False, state
        return True, state + ("" if partition in known.partitions else ", without this partition")
    minutes = idle_ms // 60_000
    return idle_ms > LONGEST_MS, f"{minutes} min older than the newest batch of all logs"


def producers(logs: Logs) -> int:
    """Returns the number of producers that wrote transactions. A producer that wrote to several
    topic partitions is counted for each of them.
    """
    return sum(
        any(is_data(batch) for batch in batches)
        for log in furthest(logs)
        for batches in by_producer(log.sound).values()
    )


def _explain(row: OpenTransaction) -> str:
    return (
        f"{row}: the transaction of transactional id {row.transactional_id}, producer "
        f"{row.producer_id}, epoch {row.producer_epoch}, is open since offset {row.offset}, with "
        f"its last record at offset {row.last_offset}; {row.why}."
    )


CHECKS: Final = (
    Check(
        id="open-transaction",
        statement="Every transaction has a commit or abort marker.",
        rule=(
            "A producer's last batch on a partition is transactional, and the coordinator has the "
            "transaction ongoing or prepared there; or no coordinator's log has the producer, and "
            "the batch is at most 15 minutes older than the newest batch of all logs."
        ),
        explanation=(
            "Readers at read_committed wait at the transaction's first offset until it ends."
        ),
        permits={IN_TIME: "the transaction may still be committed or aborted"},
        permitted=lambda _row: IN_TIME,
        source="KIP-98; Kafka documentation, transaction.max.timeout.ms",
        observes="producers of transactions on a partition",
        row=OpenTransaction,
        find=open_transactions,
        observed=producers,
        explain=_explain,
    ),
    Check(
        id="hanging-transaction",
        statement="Every open transaction can still be committed or aborted.",
        rule=(
            "A producer's last batch on a partition is transactional, but the coordinator has "
            "ended the transaction, lacks this partition, or has a later producer epoch; or no "
            "coordinator's log has the producer, and the batch is more than 15 minutes older than "
            "the newest batch of all logs."
        ),
        explanation=(
            "The transaction never gets a marker, so readers at read_committed wait at its first "
            "offset forever and the log is not compacted beyond it, until an operator runs "
            "`kafka-transactions.sh abort`."
        ),
        source="KIP-664, KIP-890; claims: timeout_aborts",
        observes="producers of transactions on a partition",
        row=OpenTransaction,
        find=hanging_transactions,
        observed=producers,
        explain=_explain,
    ),
)
