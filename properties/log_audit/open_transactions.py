"""Which transactions are open at the end of a log, and which of them will never end.

A transaction is open as long as no marker has come. The coordinator ends it at the latest when its
timeout is over. A transaction that the coordinator does not know of is ended by nobody: it hangs,
and readers of committed records hang with it.

The replica that reaches furthest is asked: the others may only be behind.

Source: KIP-664, which finds them by the same two questions; KIP-890.
Simplified: time is that of the newest batch in any log, so a cluster that nobody wrote to since has
had no time. A longer `transaction.max.timeout.ms` than the default is not known of. A coordinator's
log that lacks some partitions is taken for all there is, of the producers that it knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from properties.log_audit.check import Check, Place, place
from properties.log_audit.log import Batch, Coordinated, Logs, ReplicaLog, by_producer
from properties.log_audit.transactions import is_data

LONGEST_MS: Final = 15 * 60_000  # transaction.max.timeout.ms, by default
IN_TIME: Final = "its timeout is not over"
UNDER_WAY: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")
UNNAMED: Final = "?"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OpenTransaction(Place):
    """The first batch of a transaction without a marker, and why it is taken for what it is."""

    producer_id: int
    producer_epoch: int
    transactional_id: str  # `?`: no coordinator's log tells
    last_offset: int
    why: str


def open_transactions(logs: Logs) -> tuple[OpenTransaction, ...]:
    """One row per transaction that is open and may yet end."""
    return tuple(sorted(row for hangs, row in _open(logs) if not hangs))


def hanging_transactions(logs: Logs) -> tuple[OpenTransaction, ...]:
    """One row per transaction that nobody will end."""
    return tuple(sorted(row for hangs, row in _open(logs) if hangs))


def furthest(logs: Logs) -> Iterator[ReplicaLog]:
    """Of each topic partition the replica whose log reaches furthest, of equals the first."""
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
                hangs, why = judged(
                    log.beside.partition,
                    last.producer_epoch,
                    newest_ms - last.max_timestamp_ms,
                    known,
                )
                yield (
                    hangs,
                    OpenTransaction(
                        **place(log, first),
                        producer_id=producer_id,
                        producer_epoch=last.producer_epoch,
                        transactional_id=known.transactional_id if known else UNNAMED,
                        last_offset=last.last_offset,
                        why=why,
                    ),
                )


def _first_open(batches: list[Batch]) -> Batch:
    """The first transactional batch behind the last marker."""
    behind = [n for n, batch in enumerate(batches) if batch.marker]
    return next(b for b in batches[behind[-1] + 1 if behind else 0 :] if is_data(b))


def judged(
    partition: str, producer_epoch: int, idle_ms: int, known: Coordinated | None
) -> tuple[bool, str]:
    """Whether an open transaction hangs, and how that is known."""
    if known is not None:
        under_way = known.state in UNDER_WAY and partition in known.partitions
        ended = known.state != "Ongoing"  # its marker may have the next producer epoch
        theirs = known.producer_epoch in (producer_epoch, producer_epoch + ended)
        said = f"the coordinator has {known.state} at producer epoch {known.producer_epoch}"
        if under_way and theirs:
            return False, said
        return True, said + ("" if partition in known.partitions else ", without this partition")
    minutes = idle_ms // 60_000
    return idle_ms > LONGEST_MS, f"{minutes} min older than the newest batch of all logs"


def producers(logs: Logs) -> int:
    """How many producers wrote transactions to a partition."""
    return sum(
        any(is_data(batch) for batch in batches)
        for log in furthest(logs)
        for batches in by_producer(log.sound).values()
    )


def _tell(row: OpenTransaction) -> str:
    return (
        f"{row}: transactional id {row.transactional_id}, producer {row.producer_id}, epoch "
        f"{row.producer_epoch}: open since offset {row.offset}, last written to at offset "
        f"{row.last_offset}; {row.why}."
    )


CHECKS: Final = (
    Check(
        id="open-transaction",
        statement="Every transaction has been ended.",
        rule=(
            "A producer's last batch in the replica that reaches furthest is transactional, and "
            "the coordinator has the transaction under way on this partition; or its log is not "
            "there, and the batch is at most 15 minutes older than the newest of all logs."
        ),
        explanation="Readers of committed records wait at its first offset until it ends.",
        permits={IN_TIME: "it may yet be committed or aborted"},
        permitted=lambda _row: IN_TIME,
        source="KIP-98; transaction.max.timeout.ms",
        observes="producers of transactions on a partition",
        row=OpenTransaction,
        find=open_transactions,
        observed=producers,
        explain=_tell,
    ),
    Check(
        id="hanging-transaction",
        statement="Every open transaction will be ended.",
        rule=(
            "A producer's last batch in the replica that reaches furthest is transactional, and "
            "the coordinator has ended the transaction, or has it without this partition, or has "
            "a later producer epoch; or the coordinator's log does not know the producer, and the "
            "batch is more than 15 minutes older than the newest of all logs."
        ),
        explanation=(
            "Nobody will write its marker. Readers of committed records wait at its first offset "
            "for ever, and the log is not compacted beyond it. `kafka-transactions.sh abort` ends "
            "it by hand."
        ),
        source="KIP-664, KIP-890; claims: timeout_aborts",
        observes="producers of transactions on a partition",
        row=OpenTransaction,
        find=hanging_transactions,
        observed=producers,
        explain=_tell,
    ),
)
