"""Runs the checks of a log's producers: sequence numbers, epochs and transactions.

The checks for hanging transactions and for split transactions need several topic partitions. For
these two checks, this module only collects the open transactions and the transaction markers of
each log.

Source: `properties.log_audit`, which defines the checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.log_dirs.columns import Log, as_table
from checkers.log_dirs.one_log import Found
from checkers.log_dirs.records import Flags, Ints
from checkers.log_dirs.segments import ABORT
from properties.log_audit.aborted_index import IndexFault, Wrong
from properties.log_audit.check import Location
from properties.log_audit.log import SEQUENCE_NUMBERS
from properties.log_audit.producers import ProducerEpochBack, SequenceJump
from properties.log_audit.transactions import CoordinatorEpochBack, NotClosed, RepeatedMarker

MARKERS: Final = np.array(["abort", "commit"], dtype=object)  # by their number
OPEN: Final = pa.schema(
    [
        ("partition", pa.string()),
        ("offset", pa.int64()),
        ("replica", pa.string()),
        ("segment", pa.string()),
        ("position", pa.int64()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int64()),
        ("last_offset", pa.int64()),
        ("last_ms", pa.int64()),
    ]
)
CLOSINGS: Final = pa.schema([*list(OPEN)[:7], ("marker", pa.int64())])


def sequences(log: Log) -> Iterator[Found]:
    """Yields the results of two checks. They find missing sequence numbers, and repeated sequence
    numbers.

    In the topic `__consumer_offsets` nothing is checked, because brokers do not check its sequence
    numbers.
    """
    of, sound = log.of, log.sound if log.metadata.is_sequenced else log.sound[:0]
    numbered = sound[of["base_sequence"][sound] >= 0]
    one, two = log.successive(numbered)
    same = of["producer_epoch"][two] == of["producer_epoch"][one]
    older = of["producer_epoch"][two] < of["producer_epoch"][one]
    following = of["base_sequence"][one] + log.last[one] - log.base[one] + 1
    expected = np.where(same, following % SEQUENCE_NUMBERS, 0)
    ahead = np.where(older, 0, (of["base_sequence"][two] - expected) % SEQUENCE_NUMBERS)
    repeats = same & (ahead >= SEQUENCE_NUMBERS // 2)
    gaps = (ahead > 0) & ~repeats & (log.range_number[one] == log.range_number[two])
    observed = int((of["producer_id"][numbered] >= 0).sum())
    for check, which in (("sequence-gap", gaps), ("sequence-repeat", repeats)):
        at = two[which]
        rows = log.rows(
            SequenceJump,
            at,
            producer_id=of["producer_id"][at],
            producer_epoch=of["producer_epoch"][at],
            sequence=of["base_sequence"][at],
            next_sequence=expected[which],
            earlier_offset=log.base[one[which]],
        )
        yield Found(check=check, observations=observed, rows=rows)


def epochs(log: Log) -> Iterator[Found]:
    """Yields the results of two checks. They find producer epochs that decrease, and coordinator
    epochs that decrease.
    """
    of = log.of
    one, two = log.successive(log.sound)
    down = of["producer_epoch"][two] < of["producer_epoch"][one]
    rows = log.rows(
        ProducerEpochBack,
        two[down],
        producer_id=of["producer_id"][two[down]],
        producer_epoch=of["producer_epoch"][two[down]],
        earlier_offset=log.base[one[down]],
        earlier_producer_epoch=of["producer_epoch"][one[down]],
    )
    observed = int((of["producer_id"][log.sound] >= 0).sum())
    yield Found(check="producer-epoch-order", observations=observed, rows=rows)
    markers = log.sound[log.is_marker[log.sound]]
    one, two = log.successive(markers)
    down = of["coordinator_epoch"][two] < of["coordinator_epoch"][one]
    rows = log.rows(
        CoordinatorEpochBack,
        two[down],
        producer_id=of["producer_id"][two[down]],
        coordinator_epoch=of["coordinator_epoch"][two[down]],
        earlier_offset=log.base[one[down]],
        earlier_coordinator_epoch=of["coordinator_epoch"][one[down]],
    )
    observed = int((of["producer_id"][markers] >= 0).sum())
    yield Found(check="coordinator-epoch-order", observations=observed, rows=rows)


# ---------------------------------------------------------------- transactions


def transactions(log: Log) -> Iterator[Found]:
    """Yields three results: missing transaction markers, repeated markers, and markers with a
    raised epoch.

    A marker has a raised epoch if its producer epoch is newer than the producer epoch of the
    transaction's records. Such a marker is no fault, but the check for split transactions needs it.
    """
    of = log.of
    one, two = log.successive(log.sound)
    near = log.range_number[one] == log.range_number[two]
    one, two = one[near], two[near]
    newer = of["producer_epoch"][two] > of["producer_epoch"][one]
    unclosed = log.is_data[one] & ~log.is_control[two] & (~log.is_data[two] | newer)
    of_producer = log.sound[of["producer_id"][log.sound] >= 0]
    rows = log.rows(
        NotClosed,
        two[unclosed],
        producer_id=of["producer_id"][two[unclosed]],
        producer_epoch=of["producer_epoch"][two[unclosed]],
        earlier_offset=log.base[one[unclosed]],
        earlier_producer_epoch=of["producer_epoch"][one[unclosed]],
    )
    observed = int(log.is_data[of_producer].sum())
    yield Found(check="unclosed-transaction", observations=observed, rows=rows)
    again = log.is_marker[one] & log.is_marker[two]
    rows = log.rows(
        RepeatedMarker,
        two[again],
        producer_id=of["producer_id"][two[again]],
        producer_epoch=of["producer_epoch"][two[again]],
        marker=MARKERS[of["marker"][two[again]]].tolist(),
        earlier_offset=log.base[one[again]],
        earlier_marker=MARKERS[of["marker"][one[again]]].tolist(),
    )
    observed = int(log.is_marker[of_producer].sum())
    yield Found(check="repeated-marker", observations=observed, rows=rows)
    closes = two[log.is_data[one] & log.is_marker[two] & newer]
    collected = pa.table(
        {
            **log.place(closes),
            "producer_id": of["producer_id"][closes],
            "producer_epoch": of["producer_epoch"][closes],
            "marker": of["marker"][closes],
        },
        schema=CLOSINGS,
    )
    yield Found(check="closings", observations=len(closes), rows=collected)


class _Runs:
    """The batches of each producer, divided into runs of consecutive batches.

    `cuts` has a number for each batch of the log. A new run begins after each transaction marker. A
    new run also begins where the number in `cuts` changes from one batch of a producer to the next.
    """

    def __init__(self, log: Log, cuts: Ints) -> None:
        self.rows = log.by_producer(log.sound)
        indexes = np.arange(len(self.rows))
        changed = np.diff(cuts[self.rows], prepend=-1) != 0
        changed |= np.diff(log.of["producer_id"][self.rows], prepend=-1) != 0
        after_marker = np.append(False, log.is_marker[self.rows][:-1])[: len(indexes)]
        begins = changed | after_marker
        self.is_first: Flags = changed  # the producer has no earlier row
        self.begin: Ints = np.maximum.accumulate(np.where(begins, indexes, 0))
        data = np.where(log.is_data[self.rows], indexes, len(indexes))
        self.next_data: Ints = np.minimum.accumulate(data[::-1])[::-1]  # at or after each index


def open_at_end(log: Log) -> Found:
    """Returns the transactions that are open at the end of the log. Each row has the location of
    the first batch of a transaction.
    """
    runs = _Runs(log, np.zeros(len(log.base), np.int64))
    producers = log.of["producer_id"][runs.rows]
    is_last = np.append(producers[1:] != producers[:-1], True)[: len(producers)]
    ends = np.flatnonzero(is_last & log.is_data[runs.rows])
    last, first = runs.rows[ends], runs.rows[runs.next_data[runs.begin[ends]]]
    rows = pa.table(
        {
            **log.place(first),
            "producer_id": log.of["producer_id"][last],
            "producer_epoch": log.of["producer_epoch"][last],
            "last_offset": log.last[last],
            "last_ms": log.of["max_timestamp_ms"][last],
        },
        schema=OPEN,
    )
    observed = len(np.unique(producers[log.is_data[runs.rows]]))
    return Found(check="open", observations=observed, rows=rows)


def aborted_index(log: Log) -> Found:
    """Checks the index of aborted transactions. It reports an abort marker without an entry, an
    entry with a wrong first offset, and an entry without an abort marker.

    Nothing is checked if the log has no index of aborted transactions.
    """
    if log.metadata.aborted is None:
        return Found(check="aborted-index", observations=0, rows=as_table([], IndexFault))
    runs = _Runs(log, log.range_number)
    is_abort = log.of["marker"][runs.rows] == ABORT
    closing = np.flatnonzero(is_abort & (runs.next_data[runs.begin] < np.arange(len(runs.rows))))
    begin = runs.begin[closing]
    markers, first = runs.rows[closing], log.base[runs.rows[runs.next_data[begin]]]
    is_complete = ~runs.is_first[begin] | (log.range_base[markers] == 0)
    entries: dict[tuple[int, int], int] = {}
    for entry in log.metadata.aborted:
        entries.setdefault((entry.producer_id, entry.last_offset), entry.first_offset)
    producer_id = log.of["producer_id"]
    faults: list[IndexFault] = []

    def report(row: int, producer: int, wrong: Wrong, began: int, indexed: int) -> None:
        (place,) = log.rows(Location, np.array([row])).to_pylist()
        faults.append(
            IndexFault(
                **place,
                producer_id=producer,
                wrong=wrong,
                first_offset=began,
                indexed_offset=indexed,
            )
        )

    for row, began in zip(markers.tolist(), np.where(is_complete, first, -1).tolist(), strict=True):
        producer = int(producer_id[row])
        indexed = entries.get((producer, int(log.base[row])))
        if indexed is None:
            report(row, producer, "missing", began, -1)
        elif began >= 0 and indexed != began:
            report(row, producer, "elsewhere", began, indexed)
    for (producer, last_offset), indexed in entries.items():
        covering = log.covering(last_offset)
        aborts = (log.of["marker"][covering] == ABORT) & (producer_id[covering] == producer)
        if len(covering) and not aborts.any():
            report(int(covering[0]), producer, "unfounded", -1, indexed)
    rows = as_table(faults, IndexFault)
    return Found(check="aborted-index", observations=len(markers), rows=rows)
