"""Finds the acknowledged records that an application skipped, with one bit for each offset.

    p1 send k=a -> ok @0
    p1 send k=b -> ok @1
    p1 send k=c -> ok @2          acknowledged     offsets 0 1 2    bits 111
    c1 poll     -> ok k=a@0
    c1 poll     -> ok k=c@2       delivered        offsets 0 2      bits 101
                                  skipped          offset  1        bits 010

An offset is skipped only if it is below the highest delivered offset. A record has no bit if it was
polled at an offset where no send of the record was acknowledged. A record also has no bit if it
shares an offset with another value. The module `unconfirmed_deliveries` counts these records.

Source: `properties.delivery`.
"""

from __future__ import annotations

import numpy as np

from checkers.histories.anomalies.delivery.applications import Application, Skipped, rows_by_owner
from checkers.histories.anomalies.findings import Context
from checkers.histories.columnar.bitset import count, members
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import run_starts
from checkers.histories.facts.owner_offsets import OwnerOffsets
from checkers.histories.plan.batch import Batch


def expected_from(context: Context, reach: Batch) -> Ints:
    """Returns, for each application and key (topic partition), the offset from which the
    application must receive every record.

    This offset is the lowest offset that the application polled (column `low` of `reach`), or the
    log start if the log start is higher.
    """
    # An application may begin above the start of the log, and need not get deleted records.
    return np.maximum(reach.ints("low"), context.log_starts.of(reach.ints("key")))


def count_skipped(
    context: Context,
    applications: dict[int, Application],
    reach: Batch,
    log: OwnerOffsets,
    delivered: OwnerOffsets,
    unknown: OwnerOffsets,
) -> None:
    """Adds to `applications` the number of acknowledged records that each application skipped, and
    examples.

    The lowest skipped offset of each key (topic partition) is an example. `log` has the
    acknowledged offsets. `delivered` has the offsets that each application received. An offset in
    `unknown` is not counted, because a poll with the outcome `info` may have delivered it.
    """
    low, high, key = expected_from(context, reach), reach.ints("high"), reach.ints("key")
    for owner, rows in rows_by_owner(reach.ints("owner")):
        some = np.arange(rows.start, rows.stop)
        some = some[high[some] > low[some]]
        no_owner = np.zeros(len(some), dtype=np.int64)
        key_range, row, bits = log.within(no_owner, key[some], low[some], high[some])
        owners = np.full(len(row), owner)
        for held in (delivered, unknown):
            at = held.at(owners, log.key[row], log.word[row])
            had = np.flatnonzero(at >= 0)
            bits[had] &= ~held.bits[at[had]]
        missed = np.flatnonzero(bits)
        if len(missed):
            application = applications[owner]
            # `unknown` has the offsets of polls with the outcome `info`.
            application.skipped += count(bits[missed])
            first = missed[run_starts(key_range[missed])]
            of_word, offset = members(log.word[row[first]], bits[first])
            lowest = offset[run_starts(of_word)]
            keys = log.key[row[first]].tolist()
            application.skips.extend(map(Skipped, keys, lowest.tolist()))
