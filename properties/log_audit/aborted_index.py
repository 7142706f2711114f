"""The index of aborted transactions has an entry for every aborted transaction, and no other entry.

A reader at read_committed uses the entries of the index to drop aborted records. If an entry is
missing, the reader returns the records of an aborted transaction.

Source: KIP-98; TransactionIndex (`.txnindex`), CompletedTxn.
Simplified: transactions are compared only within a contiguous run of batches, that is, a part of
the log without gaps. An entry may refer to records that are no longer in the log: records below the
log's first batch, or records that compaction removed. Such an entry is no violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from properties.log_audit.check import Check, Location, location
from properties.log_audit.log import Aborted, Batch, Logs, ReplicaLog, by_producer
from properties.log_audit.transactions import is_data

# missing: the marker has no entry
# elsewhere: the marker's entry begins at another offset than the transaction
# unfounded: no transaction of the entry's producer was aborted at the entry's offset
Wrong = Literal["missing", "elsewhere", "unfounded"]


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class IndexFault(Location):
    """An abort marker without an entry in the transaction index, or an entry without a marker."""

    producer_id: int
    wrong: Wrong
    first_offset: int  # of the transaction; -1: unknown
    indexed_offset: int  # the first offset in the index; -1: no entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An aborted transaction whose abort marker is in the log."""

    marker: Batch
    first_offset: int  # -1: may be before the contiguous run


def _aborts(log: ReplicaLog) -> Iterator[Ended]:
    for run in log.contiguous_runs():
        for batches in by_producer(run).values():
            since_marker: list[Batch] = []  # records of the open transaction
            whole = run[0].base_offset == 0  # no transaction can begin before the run
            for batch in batches:
                if is_data(batch):
                    since_marker.append(batch)
                elif batch.marker:
                    if batch.marker == "abort" and since_marker:
                        first_offset = since_marker[0].base_offset if whole else -1
                        yield Ended(marker=batch, first_offset=first_offset)
                    since_marker, whole = [], True


def index_faults(logs: Logs) -> tuple[IndexFault, ...]:
    return tuple(sorted(row for log in logs.replicas for row in _faults(log)))


def _faults(log: ReplicaLog) -> Iterator[IndexFault]:
    if log.metadata.aborted is None:
        return
    entries: dict[tuple[int, int], Aborted] = {}
    for entry in log.metadata.aborted:
        entries.setdefault((entry.producer_id, entry.last_offset), entry)
    for ended in _aborts(log):
        found = entries.get((ended.marker.producer_id, ended.marker.base_offset))
        first = ended.first_offset
        if found is None or (first >= 0 and found.first_offset != first):
            yield IndexFault(
                **location(log, ended.marker),
                producer_id=ended.marker.producer_id,
                wrong="elsewhere" if found else "missing",
                first_offset=first,
                indexed_offset=found.first_offset if found else -1,
            )
    for (producer_id, last_offset), entry in entries.items():
        there = [b for b in log.sound if b.base_offset <= last_offset <= b.last_offset]
        if there and not any(b.producer_id == producer_id and b.marker == "abort" for b in there):
            yield IndexFault(
                **location(log, there[0]),
                producer_id=producer_id,
                wrong="unfounded",
                first_offset=-1,
                indexed_offset=entry.first_offset,
            )


def _explain(row: IndexFault) -> str:
    match row.wrong:
        case "missing":
            why = "no index has an entry for this abort"
        case "elsewhere":
            why = f"it began at offset {row.first_offset}, but its entry says {row.indexed_offset}"
        case "unfounded":
            why = "the index has this entry, but the log has no such marker"
    return f"{row}: producer {row.producer_id} aborted at offset {row.offset}: {why}."


CHECKS: Final = (
    Check(
        id="aborted-index",
        statement="The index of aborted transactions agrees with the log.",
        rule=(
            "An abort marker that closes records has no index entry of its producer that ends at "
            "the marker and begins at the first record, or an index entry ends at a batch that is "
            "no abort marker of its producer."
        ),
        explanation=(
            "Consumers at read_committed drop the records in this index, so they return aborted "
            "records or miss committed ones."
        ),
        source="TransactionIndex; claims: reads_are_committed",
        observes="abort markers that close records",
        row=IndexFault,
        find=index_faults,
        observed=lambda logs: sum(
            1 for log in logs.replicas if log.metadata.aborted is not None for _ in _aborts(log)
        ),
        explain=_explain,
    ),
)
