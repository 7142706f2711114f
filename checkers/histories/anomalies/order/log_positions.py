"""Finds the offsets of polled and sent records in a log, and the records that a process skipped.

    p1 send k=a -> ok @0
    p1 send k=b -> ok @1
    p1 send k=c -> ok @2          the log of k: a at 0, b at 1, c at 2
    c1 poll     -> ok k=a@0
    c1 poll     -> ok k=c@2       a step from offset 0 to offset 2: it skips one record, b

The module `value_offsets` finds the offsets of records whose poll or send returned no offset. With
the option `--jepsen`, it finds the offsets of all records.

Source: `properties.anomalies.order.steps`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.histories.anomalies.order.step_rows import SENDS
from checkers.histories.anomalies.order.value_offsets import ValueOffsets
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import (
    Mask,
    NumberSet,
    member,
)
from checkers.histories.facts.occupied_offsets import OccupiedOffsets, OffsetCounts
from checkers.histories.facts.record_locations import POLL_OK, SEND_INFO, SEND_OK
from checkers.histories.facts.retention import LogStarts
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import Isolation


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPositions:
    """Finds the offset of each polled or sent record, and counts the records that a step skips.

    A step is two records of a log that a process polled (or sent) one directly after the other.
    """

    isolation: Isolation
    committed: Ints  # operations that ended info and took effect
    values: ValueOffsets
    log: OccupiedOffsets
    log_starts: LogStarts
    parts: OffsetCounts  # the offsets of parts of transactions
    in_several_batches: NumberSet  # processes

    def offsets_of(self, batch: Batch, rows: Ints, role: Ints, offset: Ints) -> Ints:
        """Returns the offset of each poll and send in `rows`, or UNKNOWN_OFFSET if the offset is
        unknown.

        The recorded `offset` of a send is used only if the send took effect. If a row lacks an
        offset, the offset comes from `self.values`. With the option `--jepsen`, offsets from
        `self.values` also replace recorded offsets.
        """
        took = np.flatnonzero(role == SEND_INFO)
        took = took[member(batch.ints("op")[rows[took]], self.committed)]
        located = np.where((role == SEND_OK) | (role >= POLL_OK), offset, UNKNOWN_OFFSET)
        located[took] = offset[took]
        return self.values.applied(batch, rows, role, located)

    def first_skippable(self, kind: int, key: Ints, first: Ints) -> Ints:
        """Returns, for each step, the lowest offset that the step can skip.

        A step begins at the offset `first`. For sends, the result is `first + 1`. A poll cannot
        skip an offset below the log start. For example, if `first` is 3 and the log starts at 10,
        the result for polls is 10.
        """
        return first + 1 if kind == SENDS else np.maximum(first + 1, self.log_starts.of(key))

    def skipped_count(self, kind: int, key: Ints, first: Ints, second: Ints, dirty: Mask) -> Ints:
        """Returns, for each step, the number of records between its offsets `first` and `second`.

        `dirty` is True for polls at read_uncommitted. For any other poll, only the records that
        were certainly not aborted are counted.
        """
        low, everything = self.first_skippable(kind, key, first), self.log.everything
        if kind == SENDS or self.log.clean is everything:
            return everything.between(key, low, second)
        # `dirty` marks polls at read_uncommitted. At an offset that is not clean, the record may be
        # aborted (see `occupied_offsets`).
        skipped = np.zeros(len(key), dtype=np.int64)
        for log, polls in ((everything, dirty), (self.log.clean, ~dirty)):
            at = np.flatnonzero(polls)
            skipped[at] = log.between(key.take(at), low.take(at), second.take(at))
        return skipped
