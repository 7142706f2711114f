"""The index of aborted transactions names every transaction that was aborted, and no other.

A reader of committed records is given the entries for what it fetches and drops these records. A
missing entry shows it records that were aborted.

Source: KIP-98; TransactionIndex (`.txnindex`), CompletedTxn.
Simplified: only what lies within one stretch is compared; below the log's first batch, and where
compaction was, entries stand for records that are not there any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from properties.log_audit.check import Check, Place, place
from properties.log_audit.log import Aborted, Batch, Logs, ReplicaLog, by_producer
from properties.log_audit.transactions import is_data

Wrong = Literal["missing", "elsewhere", "unfounded"]


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class IndexFault(Place):
    """An abort marker without its entry, or an entry without its marker.

    `wrong` is `missing`: the marker has no entry; `elsewhere`: its entry begins at another offset
    than the transaction; `unfounded`: there is no abort of that producer at that offset.
    """

    producer_id: int
    wrong: Wrong
    first_offset: int  # of the transaction; -1: not known
    indexed_offset: int  # what the index has for it; -1: nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An aborted transaction whose marker lies in a log."""

    marker: Batch
    first_offset: int  # -1: may lie before what is known


def _aborts(log: ReplicaLog) -> Iterator[Ended]:
    for stretch in log.stretches():
        for batches in by_producer(stretch).values():
            since_marker: list[Batch] = []  # records of the open transaction
            whole = stretch[0].base_offset == 0  # nothing of it can lie before the stretch
            for batch in batches:
                if is_data(batch):
                    since_marker.append(batch)
                elif batch.marker:
                    if batch.marker == "abort" and since_marker:
                        first_offset = since_marker[0].base_offset if whole else -1
                        yield Ended(marker=batch, first_offset=first_offset)
                    since_marker, whole = [], True


def index_faults(logs: Logs) -> tuple[IndexFault, ...]:
    """One row per marker or entry that lacks the other."""
    return tuple(sorted(row for log in logs.replicas for row in _faults(log)))


def _faults(log: ReplicaLog) -> Iterator[IndexFault]:
    if log.beside.aborted is None:
        return
    entries: dict[tuple[int, int], Aborted] = {}
    for entry in log.beside.aborted:
        entries.setdefault((entry.producer_id, entry.last_offset), entry)
    for ended in _aborts(log):
        found = entries.get((ended.marker.producer_id, ended.marker.base_offset))
        first = ended.first_offset
        if found is None or (first >= 0 and found.first_offset != first):
            yield IndexFault(
                **place(log, ended.marker),
                producer_id=ended.marker.producer_id,
                wrong="elsewhere" if found else "missing",
                first_offset=first,
                indexed_offset=found.first_offset if found else -1,
            )
    for (producer_id, last_offset), entry in entries.items():
        there = [b for b in log.sound if b.base_offset <= last_offset <= b.last_offset]
        if there and not any(b.producer_id == producer_id and b.marker == "abort" for b in there):
            yield IndexFault(
                **place(log, there[0]),
                producer_id=producer_id,
                wrong="unfounded",
                first_offset=-1,
                indexed_offset=entry.first_offset,
            )


def _tell(row: IndexFault) -> str:
    match row.wrong:
        case "missing":
            why = "no index has an entry for it"
        case "elsewhere":
            why = f"it began at offset {row.first_offset}, its entry says {row.indexed_offset}"
        case "unfounded":
            why = "an entry says so, and there is no such marker"
    return f"{row}: producer {row.producer_id} aborted at offset {row.offset}: {why}."


CHECKS: Final = (
    Check(
        id="aborted-index",
        statement="The index of aborted transactions agrees with the log.",
        rule=(
            "An abort marker that closes records has no entry of its producer that ends at the "
            "marker, or one that begins elsewhere than the records; or an entry ends at a batch "
            "that is no abort marker of its producer."
        ),
        explanation=(
            "Consumers that read committed records are told by this index what to drop. They are "
            "given records that were aborted, or are kept from records that were committed."
        ),
        source="TransactionIndex; claims: reads_are_committed",
        observes="abort markers that close records",
        row=IndexFault,
        find=index_faults,
        observed=lambda logs: sum(
            1 for log in logs.replicas if log.beside.aborted is not None for _ in _aborts(log)
        ),
        explain=_tell,
    ),
)
