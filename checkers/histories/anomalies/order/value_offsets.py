"""Finds the offsets of values, for polls and sends that returned no offset, and for Jepsen's rules.

    p1 send k=a -> info
    c1 poll     -> ok k=a@3 k=b@4      a was observed only at 3: the send has this offset
    c2 poll     -> ok k=b@9            b was observed at 4 and 9: each poll keeps its own offset

Without the option `--jepsen`, a poll or send that returned no offset gets the offset of its value,
if the value was observed at exactly one offset (`properties.anomalies.order.own_offsets`).

With the option `--jepsen`, all polls and sends of a value have the same offset. If several values
were observed at one offset, the rules of Jepsen choose one of these values as the record at this
offset. A value that was chosen at several offsets gets the highest of these offsets
(`properties.anomalies.order.ranking`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import NumberSet, member
from checkers.histories.facts.record_locations import SEND_FAIL
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch


@dataclass(frozen=True, slots=True)
class ValueOffsets:
    """Maps each value to no more than one offset.

    If a poll, or a send that did not fail, has no recorded offset, it gets the offset of its value.
    If `of_all` is true (the rules of Jepsen), every poll and send of the value gets this offset,
    even if it has a recorded offset.
    """

    pairs: NumberSet  # key and value in one number
    values: NumberSet  # of these pairs
    offset: Ints  # of each pair, or UNKNOWN_OFFSET
    of_all: bool  # True if every poll and send of these values has this offset

    @classmethod
    def only(cls, unconfirmed: UnconfirmedValues) -> Self:
        """Returns the offsets of those unconfirmed values that were observed at exactly one offset.

        An unconfirmed value was polled at an offset where no send of the value was acknowledged.
        """
        pairs = NumberSet.of(hash_of_pair(unconfirmed.keys, unconfirmed.values))
        pair, offset = _pairs_and_offsets(unconfirmed.locations())
        pair, offset = pair[offset != UNKNOWN_OFFSET], offset[offset != UNKNOWN_OFFSET]
        only = np.full(len(pairs), UNKNOWN_OFFSET)
        at = np.searchsorted(pairs.ascending, pair)
        np.maximum.at(only, at, offset)
        only[at[offset < only[at]]] = UNKNOWN_OFFSET  # observed at several offsets
        return cls(pairs, NumberSet.of(unconfirmed.values), only, of_all=False)

    @classmethod
    def last(cls, unconfirmed: UnconfirmedValues, outranked: Batch) -> Self:
        """Returns the highest offset of each value, under Jepsen's rule that an offset has only one
        value.

        `outranked` has the values that the rule did not choose. Example: a was observed at the
        offsets 3 and 7, and b at the offset 7. If the rule chooses b at the offset 7, the offset of
        a is 3. A value gets UNKNOWN_OFFSET if the rule chooses it at none of its offsets.
        """
        lower, resent = _pairs_and_offsets(outranked), _pairs_and_offsets(unconfirmed.resent)
        # Outranked values, and values sent again after a failed send, are treated like unconfirmed
        # values.
        pairs = NumberSet.of(
            np.r_[hash_of_pair(unconfirmed.keys, unconfirmed.values), lower[0], resent[0]]
        )
        last = np.full(len(pairs), UNKNOWN_OFFSET)
        pair, offset = map(
            np.concatenate, zip(_pairs_and_offsets(unconfirmed.locations()), resent, strict=True)
        )
        ranks = ~member(hash_of_pair(pair, offset), np.sort(hash_of_pair(*lower)))
        np.maximum.at(last, np.searchsorted(pairs.ascending, pair[ranks]), offset[ranks])
        others = outranked.ints("value"), unconfirmed.resent.ints("value")
        values = NumberSet.of(np.concatenate([unconfirmed.values, *others]))
        return cls(pairs, values, last, of_all=True)

    def applied(self, batch: Batch, rows: Ints, role: Ints, located: Ints) -> Ints:
        """Replaces each missing offset in `located` by the offset of the row's value, and returns
        `located`.

        If `self.of_all` is true, recorded offsets are replaced, too.
        """
        key, value = batch.fingerprints("key"), batch.fingerprints("value")
        # A failed send gets an offset only with `of_all`.
        some = np.arange(len(rows))
        if not self.of_all:
            some = np.flatnonzero((located == UNKNOWN_OFFSET) & (role != SEND_FAIL))
        maybe = some[self.values.has(value.take(rows.take(some)))]
        pairs = hash_of_pair(key[rows[maybe]], value[rows[maybe]])
        is_one = self.pairs.has(pairs)
        at = np.searchsorted(self.pairs.ascending, pairs[is_one])
        located[maybe[is_one]] = self.offset[at]
        return located


def _pairs_and_offsets(places: Batch) -> tuple[Ints, Ints]:
    return hash_of_pair(places.ints("key"), places.ints("value")), places.ints("offset")
