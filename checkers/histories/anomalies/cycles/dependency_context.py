"""Defines facts about the whole history. A search for dependencies in one part of the history needs
these facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.time_ranges import InfoSenders
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    distinct,
)
from checkers.histories.facts.record_locations import RECORD_COLUMNS, SEND_FAIL
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage

UNKNOWN_SENDER: Final = -1


@dataclass(frozen=True, slots=True)
class UnconfirmedSenders:
    """The sender and the highest offset of each unconfirmed value.

    A value is unconfirmed if it was polled at an offset where no send of the value was
    acknowledged. If several operations sent a value, its sender is the one with the highest number
    that did not fail. If all of them failed, it is the one with the highest number.
    """

    pairs: Ints  # key and value in one number, ascending
    ops: Ints  # or UNKNOWN_SENDER
    last: Ints  # or UNKNOWN_OFFSET
    failed: Ints  # pairs whose send failed once, ascending

    @classmethod
    def of(cls, unconfirmed: UnconfirmedValues) -> UnconfirmedSenders:
        pairs = np.sort(hash_of_pair(unconfirmed.keys, unconfirmed.values))
        ops, last = np.full(len(pairs), UNKNOWN_SENDER), np.full(len(pairs), UNKNOWN_OFFSET)
        sends, places = unconfirmed.sends, unconfirmed.locations()
        failed = sends.ints("role") == SEND_FAIL
        sent = hash_of_pair(sends.ints("key"), sends.ints("value"))
        order = np.lexsort([sends.ints("op"), ~failed])  # a send that did not fail comes last
        ops[np.searchsorted(pairs, sent[order])] = sends.ints("op")[order]
        located = hash_of_pair(places.ints("key"), places.ints("value"))
        np.maximum.at(last, np.searchsorted(pairs, located), places.ints("offset"))
        return cls(pairs, ops, last, distinct(sent[failed]))


@dataclass(frozen=True, slots=True)
class DependencyContext:
    # The name of the query plan that needs the dependencies. Each batch caches them under this
    # name.
    of: str
    unconfirmed: UnconfirmedValues
    senders: UnconfirmedSenders
    info_senders: InfoSenders
    ww_deps: bool


def locations_stage(title: str, schema: pa.Schema, run: partial[pa.Table]) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that calls `run` on batches of sent and
    polled records.

    The offsets of a topic partition are divided into blocks of 65,536. All records of a block are
    in the same batch.
    """
    return Stage(Source.RECORD_LOCATIONS, Kernel(title, RECORD_COLUMNS, schema, run))
