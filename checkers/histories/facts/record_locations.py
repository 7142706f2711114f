"""Defines two shuffled tables: the records of a history by offset, and its sends by value.

    RECORD_LOCATIONS  a row for each poll of a record, and for each send with a known offset
    SENDS             a row for each send

All sends of a value are in the same partition of SENDS, in adjacent rows. RECORD_LOCATIONS is
partitioned by the key and a block of 65,536 offsets. Inside a partition, the rows are sorted by
key, offset, value and operation. A value is usually at one offset, so most values have all their
rows in one partition. The module `unconfirmed_values` handles the values whose rows are in several
partitions.

Source: jepsen.tests.kafka version-orders.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Codes, Mask, member, run_starts
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.shuffle import SHUFFLE_KEY
from checkers.histories.plan.stage import Source
from model.histories import Isolation
from properties.anomalies.declarations import Declarations

BLOCK_BITS: Final = 16  # 65,536 offsets
_SPREAD: Final = 0x1E3779B97F4A7C15  # odd; the step between shuffle keys of adjacent blocks

# the role of a row: send or poll, and the outcome; polls at read_uncommitted add UNCOMMITTED
SEND_OK: Final = 0
SEND_INFO: Final = 1
SEND_FAIL: Final = 2
POLL_OK: Final = 3
POLL_NOT_OK: Final = 4
UNCOMMITTED: Final = 8

_ROW: Final = [
    ("key", pa.int64()),  # fingerprint
    ("offset", pa.int64()),  # UNKNOWN_OFFSET if the row has none
    ("value", pa.int64()),  # fingerprint
    ("op", pa.int64()),
    ("role", pa.int8()),
]
RECORD: Final = pa.schema(_ROW)
RECORD_COLUMNS: Final = tuple(RECORD.names)
LOCATION: Final = ("key", "offset", "value")
_SHUFFLED: Final = pa.schema([(SHUFFLE_KEY, pa.int64()), *_ROW])
# the columns of a history that RECORD is made from
READS: Final = ("op", "outcome", "kind", "key", "offset", "value", "isolation")


def shuffle_kernels(declared: Declarations) -> dict[Source, Kernel]:
    """Returns the two kernels (functions on rows) that shuffle a history. The first kernel
    shuffles by record location (a key and a block of offsets), and the second kernel shuffles
    the sends by value.
    """
    locations = partial(_locations, isolation=declared.isolation)
    sends = partial(_sends, isolation=declared.isolation)
    return {
        Source.RECORD_LOCATIONS: Kernel(
            "shuffling by location",
            READS,
            _SHUFFLED,
            locations,
            order=LOCATION,
            shuffled_by=("key", f"block of {1 << BLOCK_BITS:,} offsets"),
        ),
        Source.SENDS: Kernel(
            "shuffling by value",
            READS,
            _SHUFFLED,
            sends,
            order=("value", "key"),
            shuffled_by=("value",),
        ),
    }


def block(offset: Ints) -> Ints:
    """Returns, for each offset, the number of its block of 65,536 offsets."""
    return offset >> BLOCK_BITS


def _locations(batch: Batch, isolation: Isolation) -> pa.Table:
    wanted = batch.is_in("kind", "poll") | (batch.is_in("kind", "send") & batch.is_valid("offset"))
    return _rows(batch, wanted, _by_block, isolation)


def _sends(batch: Batch, isolation: Isolation) -> pa.Table:
    return _rows(batch, batch.is_in("kind", "send"), _by_value, isolation)


def _by_block(key: Ints, offset: Ints, value: Ints) -> Ints:
    del value
    return key + block(offset) * _SPREAD  # fingerprints of keys are spread already


def _by_value(key: Ints, offset: Ints, value: Ints) -> Ints:
    del key, offset
    return value


def _rows(batch: Batch, wanted: Mask, group: Any, isolation: Isolation) -> pa.Table:
    rows = np.flatnonzero(wanted)
    key, value = batch.fingerprints("key")[rows], batch.fingerprints("value")[rows]
    offset = batch.ints("offset", null=UNKNOWN_OFFSET)[rows]
    columns = {
        SHUFFLE_KEY: group(key, offset, value),
        "key": key,
        "offset": offset,
        "value": value,
        "op": batch.ints("op")[rows],
        "role": roles(batch, isolation)[rows],
    }
    return pa.table(columns, schema=_SHUFFLED)


def records_of(batch: Batch, isolation: Isolation) -> pa.Table:
    """Returns the rows of the batch with only five columns: key (topic partition), offset, value,
    operation and role.

    The role is the kind and the outcome of the operation, such as `SEND_OK`.
    """
    every = np.ones(len(batch), np.bool_)
    return _rows(batch, every, _by_value, isolation).select(RECORD_COLUMNS)


def roles(batch: Batch, isolation: Isolation) -> Any:
    """Returns the role of each row: whether the row is a send or a poll, and its outcome, such as
    `SEND_OK`.

    A poll at read_uncommitted has a role of its own, because it may return aborted records. If the
    isolation level of a row is not recorded, the level `isolation` is assumed.
    """
    return batch.derived(("roles", isolation), partial(_roles, isolation))


def _roles(isolation: Isolation, batch: Batch) -> Any:
    ok, info = (batch.is_in("outcome", word).view(np.int8) for word in ("ok", "info"))
    sent = SEND_FAIL + (SEND_OK - SEND_FAIL) * ok + (SEND_INFO - SEND_FAIL) * info
    uncommitted = batch.is_in("isolation", "read_uncommitted")
    if isolation == "read_uncommitted":
        uncommitted = uncommitted | ~batch.is_valid("isolation")
    polled = POLL_NOT_OK + (POLL_OK - POLL_NOT_OK) * ok + UNCOMMITTED * uncommitted.view(np.int8)
    return np.where(batch.is_in("kind", "send"), sent, polled)


def role_of(batch: Batch) -> Codes:
    return batch.derived(("role",), lambda it: it.table["role"].to_numpy())


def first_rows(batch: Batch) -> Ints:
    """Returns the number of the first row of each group of rows that have equal keys (topic
    partitions), offsets and values.

    The batch must be sorted by these three columns.
    """
    return batch.derived(("first rows",), lambda it: run_starts(*map(it.ints, LOCATION)))


def location_of(batch: Batch) -> Ints:
    """Returns, for each row, the number of its group, from 0. The rows of a group have equal keys
    (topic partitions), offsets and values.

    The batch must be sorted by these three columns.
    """

    def made(batch: Batch) -> Ints:
        begun = np.zeros(len(batch), dtype=np.bool_)
        # Location i begins at the i-th row of `first_rows`.
        begun[first_rows(batch)] = True
        return np.cumsum(begun) - 1

    return batch.derived(("location of",), made)


def took_effect(batch: Batch, committed: Ints) -> Mask:
    """Returns a mask: True for each send whose record must be in the log.

    These are the acknowledged sends, and the sends of the operations in `committed`. An operation
    in `committed` ended `info`, but a poll returned one of its values.
    """
    role = role_of(batch)
    took: Mask = role == SEND_OK
    info = np.flatnonzero(role == SEND_INFO)
    took[info] = member(batch.ints("op")[info], committed)
    return took


def proves_location(batch: Batch, committed: Ints) -> Mask:
    """Returns a mask: True for each row that proves that a record is at the row's offset.

    These rows are the polls, and the sends that must have taken effect.
    """
    role = role_of(batch)
    proof: Mask = (role >= POLL_OK) | took_effect(batch, committed)
    return proof


def polled_ok(batch: Batch) -> Mask:
    ended_ok: Mask = (role_of(batch) & ~UNCOMMITTED) == POLL_OK
    return ended_ok
