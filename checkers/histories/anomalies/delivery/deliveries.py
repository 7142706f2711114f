"""Defines the query plan that finds the records that each application received twice or skipped.

    p1 send k=a -> ok @0
    p1 send k=b -> ok @1
    p1 send k=c -> ok @2
    c1 poll     -> ok k=a@0            op 3
    c1 poll     -> ok k=a@0 k=c@2      op 4

    process c1: 2 records; 1 repeated: a, in op 3 and again in op 4; 1 skipped: b at offset 1

Each delivered offset and each acknowledged offset is stored as one bit. Two kinds of offsets have
no bit: the offsets of unconfirmed values, and the offsets with several values. An unconfirmed value
was polled at an offset where no send of the value was acknowledged. For the values at these
offsets, the plan collects all polls instead of bits.

Source: `properties.delivery`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.delivery import delivery_kernels
from checkers.histories.anomalies.delivery.applications import (
    Application,
    Repeated,
    Skipped,
    applications_of,
    count_records,
)
from checkers.histories.anomalies.delivery.delivery_kernels import (
    COLUMNS,
    IN_FULL,
    PLACED,
    POLLED,
    REACH,
    ROWS,
)
from checkers.histories.anomalies.delivery.repetitions import find_repetitions
from checkers.histories.anomalies.delivery.skipped_records import count_skipped
from checkers.histories.anomalies.delivery.unconfirmed_deliveries import count_unconfirmed
from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.transactions.unconfirmed_records import (
    Record,
)
from checkers.histories.columnar.fingerprints import NULL
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.sorting import distinct
from checkers.histories.facts.owner_offsets import OWNER_WORDS, OwnerOffsets, without
from checkers.histories.facts.record_locations import POLL_OK, RECORD_COLUMNS, SEND_OK
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.delivery import DeliveredAt, Delivery, Repetition, Skip


def deliveries(context: Context) -> Plan[tuple[Delivery, ...]]:
    ok, info, sent, reached, shared = yield from in_parallel(
        _operations("deliveries", OWNER_WORDS, partial(delivery_kernels.delivered_offsets, "ok")),
        _operations("deliveries", OWNER_WORDS, partial(delivery_kernels.delivered_offsets, "info")),
        _locations("acknowledged offsets", OWNER_WORDS, delivery_kernels.acknowledged),
        _operations("deliveries", REACH, delivery_kernels.extents),
        _locations("offsets with several values", ROWS, delivery_kernels.at_shared_offsets),
    )
    reach, at_shared, unconfirmed = (
        Batch(delivery_kernels.merged_extents(reached)),
        Batch(shared),
        context.unconfirmed,
    )
    several = at_shared.where(at_shared.ints("role") == SEND_OK)
    records = Pairs.of(
        np.r_[unconfirmed.keys, several.ints("key")],
        np.r_[unconfirmed.values, several.ints("value")],
    )
    ops = distinct(
        np.concatenate(
            [
                of.ints("op")[of.ints("role") >= POLL_OK]
                for of in (unconfirmed.observations, at_shared)
            ]
        )
    )
    run, title = (
        partial(delivery_kernels.polls_of, ops, records),
        "deliveries of unconfirmed values",
    )
    polls = yield from collect(
        Stage(Source.OPERATIONS, Kernel(title, IN_FULL, POLLED, run, ops=ops), Batch)
    )
    places = unconfirmed.observations.where(
        unconfirmed.observations.ints("offset") != UNKNOWN_OFFSET
    )
    excluded_keys = np.r_[places.ints("key"), several.ints("key")]
    excluded_offsets = np.r_[places.ints("offset"), several.ints("offset")]
    ok, info, sent = (without(words, excluded_keys, excluded_offsets) for words in (ok, info, sent))
    delivered, unknown, log = OwnerOffsets.of(ok), OwnerOffsets.of(info), OwnerOffsets.of(sent)
    applications = applications_of(reach, polls)
    count_records(applications, delivered)
    count_skipped(context, applications, reach, log, delivered, unknown)
    count_unconfirmed(context, applications, reach, several, polls)
    yield from find_repetitions(applications, ok, delivered)
    return (yield from _as_deliveries(applications, reach))


def _operations(title: str, schema: pa.Schema, run: Callable[[Batch], pa.Table]) -> Plan[pa.Table]:
    return collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, schema, run)))


def _locations(title: str, schema: pa.Schema, run: Callable[[Batch], pa.Table]) -> Plan[pa.Table]:
    return collect(Stage(Source.RECORD_LOCATIONS, Kernel(title, RECORD_COLUMNS, schema, run)))


def _as_deliveries(
    applications: dict[int, Application], reach: Batch
) -> Plan[tuple[Delivery, ...]]:
    yield from _resolve_skipped(applications)
    named: list[Skipped | Repeated] = [
        it for application in applications.values() for it in application.skips
    ]
    named += [it.repetition for it in applications.values() if it.repetition]
    key_of, value_of, group_of = yield from in_parallel(
        _texts([it.key for it in named], "key"),
        _texts([it.value for it in named], "value"),
        _texts([it.group for it in applications.values()], "group"),
    )
    high: dict[Record, tuple[int, int]] = {}
    columns = (reach.ints(name).tolist() for name in ("owner", "key", "high", "high_op"))
    for owner, key, offset, op in zip(*columns, strict=True):
        high[owner, key] = offset, op
    rows: list[Delivery] = []
    for owner, application in applications.items():
        alone = application.group == NULL
        name = f"process {application.process}" if alone else f"group {group_of[application.group]}"
        skipped = (
            Skip(
                application=name,
                key=key_of[it.key],
                offset=it.offset,
                value=value_of[it.value],
                writer_op=it.writer_op,
                beyond_offset=high[owner, it.key][0],
                beyond_op=high[owner, it.key][1],
            )
            for it in application.skips
        )
        repetition = None
        if (twice := application.repetition) and twice.first:
            repetition = Repetition(
                application=name,
                key=key_of[twice.key],
                value=value_of[twice.value],
                first=_place(twice.first),
                second=_place(twice.second),
            )
        rows.append(
            Delivery(
                application=name,
                records=application.records,
                repeated=application.repeated,
                skipped=application.skipped,
                repetition=repetition,
                skip=min(skipped, default=None),
            )
        )
    return tuple(sorted(rows, key=lambda it: it.application))


def _place(delivered: tuple[int, int, int]) -> DeliveredAt:
    op, position, offset = delivered
    return DeliveredAt(
        op=op, position=position, offset=None if offset == UNKNOWN_OFFSET else offset
    )


def _resolve_skipped(applications: dict[int, Application]) -> Plan[None]:
    plain = [
        it for application in applications.values() for it in application.skips if it.value == NULL
    ]
    if not plain:
        return
    keys, offsets = (
        np.array([getattr(it, name) for it in plain], dtype=np.int64) for name in ("key", "offset")
    )
    run = partial(delivery_kernels.acknowledged_at, Pairs.of(keys, offsets))
    sent = yield from collect(
        Stage(Source.RECORD_LOCATIONS, Kernel("skipped records", RECORD_COLUMNS, PLACED, run))
    )
    at: dict[Record, Skipped] = {}
    for row in sent.to_pylist():
        place = row["key"], row["offset"]
        at[place] = Skipped(*place, row["value"], row["op"])
    for application in applications.values():
        application.skips = [
            at[it.key, it.offset] if it.value == NULL else it for it in application.skips
        ]


def _texts(numbers: list[int], column: str) -> Plan[dict[int, str]]:
    fingerprints = np.array(numbers, dtype=np.int64)
    text_of = yield from resolve_fingerprints(fingerprints, column=column)
    return dict(zip(numbers, text_of(fingerprints).to_pylist(), strict=True))
