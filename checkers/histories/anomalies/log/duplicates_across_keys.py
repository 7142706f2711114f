"""Defines the query plan of `duplicate-across-keys`: values that occur in several keys of a topic.

    p1 send k-0=a -> ok @0
    c1 poll       -> ok k-0=a@0
    c1 poll       -> ok k-1=a@0      a is in partitions 0 and 1, and was sent to partition 0 only

A key is a topic partition. In partition 1, `a` looks like a value that no operation sent.

Source: `properties.anomalies.log.duplicate_across_keys`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs, pairs_in
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import NumberSet
from checkers.histories.facts.record_locations import (
    RECORD,
    RECORD_COLUMNS,
    SEND_FAIL,
    UNCOMMITTED,
    proves_location,
)
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, resolve_fingerprints
from model.histories import topic_of
from properties.anomalies.log.duplicate_across_keys import DuplicateAcrossKeys

_SCHEMA: Final = schema_of(DuplicateAcrossKeys)


def duplicates_across_keys(unconfirmed: UnconfirmedValues, never_sent: Batch) -> Plan[pa.Table]:
    """Returns the values in `never_sent` that an operation sent to another key (topic partition) of
    the same topic.

    `never_sent` has values that no operation sent to the key at which they were polled.
    """
    placed = unconfirmed.locations()
    nobody_sent = pairs_in(
        placed.ints("key"), placed.ints("value"), never_sent.ints("key"), never_sent.ints("value")
    )
    strangers = placed.where(nobody_sent & (placed.ints("offset") != UNKNOWN_OFFSET))
    if not len(strangers):
        return _SCHEMA.empty_table()
    values = np.unique(strangers.ints("value"))
    of_values = partial(_of_values, NumberSet(values))
    sends = yield from collect(
        Stage(
            Source.SENDS, Kernel("senders to other keys", RECORD_COLUMNS, RECORD, of_values), Batch
        )
    )
    sent = Pairs.of(sends.ints("key"), sends.ints("value"))
    where = partial(_proofs_at_sent_keys, sent, unconfirmed.committed)
    home = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS,
            Kernel("locations in other keys", RECORD_COLUMNS, RECORD, where),
            Batch,
        )
    )
    failed = sends.where(sends.ints("role") == SEND_FAIL)
    in_vain = pairs_in(
        home.ints("key"), home.ints("value"), failed.ints("key"), failed.ints("value")
    )
    home = home.where(~(in_vain & (home.ints("role") >= UNCOMMITTED)))
    key_of = yield from resolve_fingerprints(strangers.ints("key"), sends.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(values)

    def pairs(batch: Batch) -> list[tuple[str, str]]:
        keys, texts = key_of(batch.ints("key")), value_of(batch.ints("value"))
        return list(zip(keys.to_pylist(), texts.to_pylist(), strict=True))

    lowest: dict[tuple[str, str], tuple[int, int]] = {}
    for batch in (strangers, home):
        places = zip(batch.ints("offset").tolist(), batch.ints("op").tolist(), strict=True)
        for pair, place in zip(pairs(batch), places, strict=True):
            lowest[pair] = min(lowest.get(pair, place), place)
    return pa.Table.from_pylist(_rows(lowest, set(pairs(sends))), schema=_SCHEMA)


def _of_values(values: NumberSet, batch: Batch) -> pa.Table:
    return batch.where(values.has(batch.ints("value"))).table.select(RECORD_COLUMNS)


def _proofs_at_sent_keys(sent: Pairs, committed: Ints, batch: Batch) -> pa.Table:
    wanted = sent.have(batch.ints("key"), batch.ints("value"))
    wanted &= (batch.ints("offset") != UNKNOWN_OFFSET) & proves_location(batch, committed)
    return batch.where(wanted).table.select(RECORD_COLUMNS)


def _rows(
    lowest: dict[tuple[str, str], tuple[int, int]], sent: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    homes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    located: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key, value in sent:
        homes[topic_of(key), value].add(key)
    for key, value in sorted(lowest):
        located[topic_of(key), value].append(key)
    return [
        {
            "key": home,
            "value": value,
            "keys": keys,
            "offsets": [lowest[key, value][0] for key in keys],
            "seen_by": [lowest[key, value][1] for key in keys],
        }
        for (topic, value), sent_to in homes.items()
        for home, keys in [(min(sent_to), located[topic, value])]
        if len(sent_to) == 1 and len(keys) > 1 and home in keys
    ]
