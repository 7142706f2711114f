"""Runs the checks that need several topic partitions: they find hanging transactions and split
transactions.

A hanging transaction is open and will never end. A split transaction is committed on one topic
partition and aborted on another.

Source: `properties.log_audit.open_transactions`, `properties.log_audit.transactions`.
Simplified: some transaction markers are held in memory. They are the markers whose producer epoch
is newer than the producer epoch of the transaction's records. They take about 100 bytes for each
transaction and topic partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.log_dirs.columns import as_table
from checkers.log_dirs.one_log import Found
from checkers.log_dirs.segments import ABORT, COMMIT
from properties.log_audit.log import CoordinatorEntry
from properties.log_audit.open_transactions import UNNAMED, OpenTransaction, hangs_because
from properties.log_audit.transactions import SplitTransaction

_BY_TRANSACTION: Final = [(name, "ascending") for name in ("producer_id", "producer_epoch")]
_BY_PLACE: Final = [(name, "ascending") for name in ("partition", "offset", "replica")]


def open_transactions(
    found: Found, newest_ms: int, coordinated: Sequence[CoordinatorEntry]
) -> Iterator[Found]:
    """Yields the results of two checks: first the open transactions that may still end, then the
    hanging transactions.

    `found` has the transactions that are open at the end of a log, and `coordinated` has the
    coordinator's state of each transactional id. The idle time of a transaction is measured up to
    `newest_ms`, the newest timestamp in all logs.
    """
    by_producer = {one.producer_id: one for one in coordinated}
    rows: dict[bool, list[OpenTransaction]] = {False: [], True: []}
    for row in found.rows.to_pylist():
        idle_ms = newest_ms - row.pop("last_ms")
        state = by_producer.get(row["producer_id"])
        hangs, why = hangs_because(row["partition"], row["producer_epoch"], idle_ms, state)
        name = state.transactional_id if state else UNNAMED
        rows[hangs].append(OpenTransaction(**row, transactional_id=name, why=why))
    for check, hangs in (("open-transaction", False), ("hanging-transaction", True)):
        yield Found(
            check=check,
            observations=found.observations,
            rows=as_table(rows[hangs], OpenTransaction),
        )


def split_transactions(found: Found) -> Found:
    split: list[SplitTransaction] = []
    if found.rows.num_rows:
        rows = found.rows.sort_by([*_BY_TRANSACTION, ("marker", "ascending"), *_BY_PLACE])
        keys = [rows[n].to_numpy() for n in ("producer_id", "producer_epoch", "marker")]
        new = np.append(True, np.any([key[1:] != key[:-1] for key in keys], axis=0))
        rows = rows.filter(pa.array(new))  # per transaction, its first abort and first commit
        keys = [rows[n].to_numpy() for n in ("producer_id", "producer_epoch")]
        both = np.flatnonzero(np.all([key[1:] == key[:-1] for key in keys], axis=0))
        for aborted, committed in zip(
            rows.take(both).to_pylist(), rows.take(both + 1).to_pylist(), strict=True
        ):
            assert (aborted.pop("marker"), committed.pop("marker")) == (ABORT, COMMIT)
            split.append(
                SplitTransaction(
                    **committed,
                    aborted_replica=aborted["replica"],
                    aborted_partition=aborted["partition"],
                    aborted_offset=aborted["offset"],
                )
            )
    return Found(
        check="split-transaction",
        observations=found.observations,
        rows=as_table(split, SplitTransaction),
    )
