"""Finds the progress of readers at read_committed: the highest offset that they polled in each log.

    c1 poll -> ok k=a@0 k=b@1      op 0
    c2 poll -> ok k=a@0            op 1     progress of k: offset 1, first reached by op 0

Only successful polls are considered.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.sorting import run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import Isolation

LAST: Final = 2**63 - 1  # above every operation
_FURTHEST: Final = int64_schema("key", "offset", "op")


def progress_in(isolation: Isolation, batch: Batch) -> pa.Table:
    """Returns, for each key (topic partition), the highest offset that was polled at
    read_committed, and the first operation that polled it.
    """
    polls = batch.is_in("outcome", "ok") & batch.is_in("kind", "poll") & batch.is_valid("offset")
    rows = np.flatnonzero(polls & ~reads_uncommitted(batch, isolation))
    numbers, texts = batch.codes("key")
    key, offset = numbers.take(rows), batch.ints("offset").take(rows)
    highest, first = np.full(len(texts), UNKNOWN_OFFSET), np.full(len(texts), LAST)
    np.maximum.at(highest, key, offset)
    there = np.flatnonzero(offset == highest.take(key))
    np.minimum.at(first, key[there], batch.ints("op")[rows[there]])
    some = first != LAST
    return table_from(
        _FURTHEST, fingerprints(texts, batch.hash_seed)[some], highest[some], first[some]
    )


def merged_progress(key: Ints, offset: Ints, op: Ints) -> pa.Table:
    order = np.lexsort([op, -offset, key])
    first = order[run_starts(key[order])]
    return table_from(_FURTHEST, key[first], offset[first], op[first])


def progress_of(of: Batch, key: Ints) -> Ints:
    """Returns, for each key (topic partition), the highest offset that a reader polled.

    If no reader polled the key, the result is UNKNOWN_OFFSET, which is below every offset.
    """
    keys = of.ints("key")
    at = np.searchsorted(keys, key)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == key[inside]
    reached: Ints = np.r_[of.ints("offset"), UNKNOWN_OFFSET][np.where(inside, at, -1)]
    return reached
