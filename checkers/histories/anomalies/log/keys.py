"""Collects the keys of a history, and counts the failed values that a reader could have received.

A key is a topic partition. A failed value is a value whose sends all failed:

    p1 txn k=a  -> fail
    p2 txn j=b  -> fail
    c1 poll     -> ok k=c@3     c1 reads at read_committed

In this example, one value is counted: a. No reader at read_committed could have received b, because
no reader at read_committed read the key j.

Source: `properties.anomalies.observations`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.sorting import Mask, any_in_run, member, run_starts
from checkers.histories.facts.record_locations import POLL_OK, RECORD_COLUMNS, roles
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage
from model.histories import Isolation, topic_of

_READS: Final = ("kind", "outcome", "key", "isolation")
_KEYS: Final = pa.schema([("key", pa.int64()), ("text", pa.string()), ("committed", pa.bool_())])
_FAILED: Final = int64_schema("key", "values")


@dataclass(frozen=True, slots=True)
class RecordKeys:
    """Two sets of keys (topic partitions), as ascending arrays of fingerprints (64-bit hashes).

    - `committed` has the keys from which a reader at read_committed received a record.
    - `with_siblings` has the keys of topics with several topic partitions.
    """

    committed: Ints
    with_siblings: Ints

    @classmethod
    def of(cls, found: pa.Table) -> Self:
        keys, texts = Batch(found).ints("key"), found["text"].to_pylist()
        topics = {key: topic_of(text) for key, text in zip(keys.tolist(), texts, strict=True)}
        partitions = Counter(topics.values())
        several = [key for key, topic in topics.items() if partitions[topic] > 1]
        committed = found["committed"].to_numpy(zero_copy_only=False).astype(np.bool_)
        return cls(np.unique(keys[committed]), np.array(sorted(several), dtype=np.int64))

    def values_of_committed(self, failed: pa.Table) -> int:
        """Returns the number of failed values (values whose sends all failed) that a reader could
        have received.

        Only the topic partitions from which a reader at read_committed received a record are
        counted. `failed` has the number of failed values in each topic partition.
        """
        of = Batch(failed)
        return int(of.ints("values")[member(of.ints("key"), self.committed)].sum())


def record_keys(isolation: Isolation) -> Stage[RecordKeys]:
    """Returns a query-plan stage (one query on a dataset) that collects the keys (topic
    partitions) of all sends and polls.
    """
    kernel = Kernel("keys of records", _READS, _KEYS, partial(_keys, isolation))
    return Stage(Source.OPERATIONS, kernel, RecordKeys.of)


def _keys(isolation: Isolation, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(batch.is_in("kind", "send", "poll"))
    codes, texts = batch.narrow_codes("key")
    found = np.zeros((2, len(texts)), dtype=np.bool_)
    found[0][codes[rows]] = True
    found[1][codes[rows[roles(batch, isolation)[rows] == POLL_OK]]] = True
    some = np.flatnonzero(found[0])
    few = texts.take(pa.array(some))
    return pa.table(
        [fingerprints(few, batch.hash_seed), few, pa.array(found[1][some])], schema=_KEYS
    )


def failed_values(failed: Callable[[Batch], Mask]) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that counts, for each key (topic
    partition), the values whose sends all failed.

    The function `failed` returns a mask of the failed sends in a batch.
    """
    kernel = Kernel("values of failed sends", RECORD_COLUMNS, _FAILED, partial(_failed, failed))
    return Stage(Source.SENDS, kernel)


def _failed(failed: Callable[[Batch], Mask], batch: Batch) -> pa.Table:
    starts = run_starts(batch.ints("value"), batch.ints("key"))  # SENDS are in that order
    every = starts[~any_in_run(~failed(batch), starts)]
    keys, counts = np.unique(batch.ints("key")[every], return_counts=True)
    return table_from(_FAILED, keys, counts)
