"""Finds the log start of each key. Retention may have deleted all records before the log start, but
no later record.

The log start of a key (topic partition) is the highest start offset that any client read.

Source: `properties.anomalies.retention`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import member
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect
from properties.anomalies.declarations import Declarations
from properties.anomalies.retention import BEGINNING, NOWHERE

_READS: Final = ("outcome", "kind", "key", "offset")
_STARTS: Final = pa.schema([("key", pa.int64()), ("offset", pa.int64())])


@dataclass(frozen=True, slots=True)
class LogStarts:
    keys: Ints  # ascending
    offsets: Ints

    def of(self, key: Ints) -> Ints:
        """Returns the log start of each key (topic partition).

        The log start is the highest start offset that a client read. If no client read one, it is
        BEGINNING, a number below every offset. For a compacted topic, it is NOWHERE, a number above
        every offset.
        """
        listed = member(key, self.keys)
        starts = np.full(len(key), BEGINNING)
        starts[listed] = self.offsets[np.searchsorted(self.keys, key[listed])]
        return starts


COMPLETE_LOGS: Final = LogStarts(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def find_log_starts(declared: Declarations) -> Plan[LogStarts]:
    """Returns, for each key (topic partition), the highest log start offset that a client read.

    A key of a compacted topic has the log start `NOWHERE`, a number above every offset, because
    compaction may have deleted any of its records.
    """
    run = partial(_starts, declared)
    starts = yield from collect(
        Stage(Source.OPERATIONS, Kernel("collecting log starts", _READS, _STARTS, run))
    )
    # NOWHERE is above every offset.
    highest = (
        starts.group_by("key", use_threads=False).aggregate([("offset", "max")]).sort_by("key")
    )
    of_keys = Batch(highest)
    return LogStarts(of_keys.ints("key"), of_keys.ints("offset_max"))


def _starts(declared: Declarations, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(batch.is_in("kind", "start_offset") & batch.is_in("outcome", "ok"))
    starts = pa.table(
        {"key": batch.fingerprints("key")[rows], "offset": batch.ints("offset")[rows]},
        schema=_STARTS,
    )
    if not declared.compacted:
        return starts
    numbers, texts = batch.codes("key")
    of_topic = np.array([declared.compacts(text) for text in texts.to_pylist()], dtype=np.bool_)
    rows = np.flatnonzero((numbers >= 0) & np.r_[of_topic, False][numbers])
    keys = np.unique(batch.fingerprints("key")[rows])
    gone = pa.table({"key": keys, "offset": np.full(len(keys), NOWHERE)}, schema=_STARTS)
    return pa.concat_tables([starts, gone])
