"""The offset of each record in its log, and the records that a process skipped.

    p1 send k=a -> ok @0
    p1 send k=b -> ok @1
    p1 send k=c -> ok @2          the log of k: a at 0, b at 1, c at 2
    c1 poll     -> ok k=a@0
    c1 poll     -> ok k=c@2       a step from offset 0 to offset 2: it skips one record, b

A step is a pair of records of a key that a process polled (or sent) one after the other. A
confirmed value is located at its own offset. If several values were observed at one offset, only
the one that ranks first is the record there (`properties.anomalies.order.ranking`). An unconfirmed
value is located at the last offset where it ranks first. A value is confirmed if it was polled only
at offsets where a send of it was acknowledged.

Source: `properties.anomalies.order.steps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from checkers.histories.anomalies.order.step_rows import SENDS
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    Mask,
    NumberSet,
    member,
)
from checkers.histories.facts.occupied_offsets import OccupiedOffsets
from checkers.histories.facts.record_locations import POLL_OK, SEND_INFO, SEND_OK
from checkers.histories.facts.retention import LogStarts
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import Isolation


@dataclass(frozen=True, slots=True)
class LogPositions:
    """The offset of each value in the log, and the number of records between two offsets."""

    isolation: Isolation
    committed: Ints  # operations that ended info and took effect
    unconfirmed: NumberSet  # key and value in one number
    values: NumberSet  # of unconfirmed values
    last_offset: Ints  # the last offset at which each ranks first; or UNKNOWN_OFFSET
    log: OccupiedOffsets
    log_starts: LogStarts
    in_several_batches: NumberSet  # processes

    @classmethod
    def of(
        cls,
        isolation: Isolation,
        unconfirmed: UnconfirmedValues,
        outranked: Batch,
        log: OccupiedOffsets,
        log_starts: LogStarts,
        in_several_batches: NumberSet,
    ) -> Self:
        """Builds the positions of all values.

        The parameter `outranked` has the values at an offset where another value ranks first. These
        are treated like unconfirmed values. So are values that were sent again after a failed send.
        """
        lower, resent = _pairs_and_offsets(outranked), _pairs_and_offsets(unconfirmed.resent)
        pairs = NumberSet.of(
            np.r_[hash_of_pair(unconfirmed.keys, unconfirmed.values), lower[0], resent[0]]
        )
        last_offset = np.full(len(pairs), UNKNOWN_OFFSET)
        pair, offset = map(
            np.concatenate, zip(_pairs_and_offsets(unconfirmed.locations()), resent, strict=True)
        )
        ranks = ~member(hash_of_pair(pair, offset), np.sort(hash_of_pair(*lower)))
        np.maximum.at(last_offset, np.searchsorted(pairs.ascending, pair[ranks]), offset[ranks])
        others = outranked.ints("value"), unconfirmed.resent.ints("value")
        values = NumberSet.of(np.concatenate([unconfirmed.values, *others]))
        return cls(
            isolation,
            unconfirmed.committed,
            pairs,
            values,
            last_offset,
            log,
            log_starts,
            in_several_batches,
        )

    def offsets_of(self, batch: Batch, rows: Ints, role: Ints, offset: Ints) -> Ints:
        key, value = batch.fingerprints("key"), batch.fingerprints("value")
        took = np.flatnonzero(role == SEND_INFO)
        took = took[member(batch.ints("op")[rows[took]], self.committed)]
        located = np.where((role == SEND_OK) | (role >= POLL_OK), offset, UNKNOWN_OFFSET)
        located[took] = offset[took]
        unconfirmed = batch.derived(("unconfirmed values",), lambda _: self.values.has(value))
        maybe = np.flatnonzero(unconfirmed.take(rows))
        pairs = hash_of_pair(key[rows[maybe]], value[rows[maybe]])
        is_unconfirmed = self.unconfirmed.has(pairs)
        at = np.searchsorted(self.unconfirmed.ascending, pairs[is_unconfirmed])
        located[maybe[is_unconfirmed]] = self.last_offset[at]
        return located

    def first_skippable(self, kind: int, key: Ints, first: Ints) -> Ints:
        """Returns, for each key, the lowest offset above `first` that a process can skip."""
        return first + 1 if kind == SENDS else np.maximum(first + 1, self.log_starts.of(key))

    def skipped_count(self, kind: int, key: Ints, first: Ints, second: Ints, dirty: Mask) -> Ints:
        """Returns how many records a process skipped between the offsets `first` and `second`.

        `dirty` is True for a process that reads at read_uncommitted.
        """
        low, everything = self.first_skippable(kind, key, first), self.log.everything
        all_of_them = everything.between(key, low, second)
        if kind == SENDS or self.log.clean is everything:
            return all_of_them
        return np.where(dirty, all_of_them, self.log.clean.between(key, low, second))


def _pairs_and_offsets(places: Batch) -> tuple[Ints, Ints]:
    return hash_of_pair(places.ints("key"), places.ints("value")), places.ints("offset")
