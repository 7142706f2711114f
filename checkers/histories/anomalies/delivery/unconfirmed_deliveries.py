"""Counts the deliveries of records that are unconfirmed, or share an offset with another value.

A record is unconfirmed if it was polled at an offset where no send of the record was acknowledged:

    p1 send k=a -> info
    c1 poll     -> ok k=a@0       a is unconfirmed: no send of a was acknowledged at offset 0
    c1 poll     -> ok k=a@0       the second delivery to process c1

Such records are few, so the plan collects all their polls, and counts the records one by one.

Source: `properties.delivery`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from checkers.histories.anomalies.delivery.applications import (
    Application,
    DeliveredAt,
    Repeated,
    Skipped,
)
from checkers.histories.anomalies.delivery.delivery_kernels import (
    FAIL,
    OK,
)
from checkers.histories.anomalies.delivery.skipped_records import expected_from
from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.transactions.unconfirmed_records import (
    Record,
    UnconfirmedRecord,
    unconfirmed_records,
)
from checkers.histories.facts.record_locations import (
    SEND_INFO,
    SEND_OK,
)
from checkers.histories.plan.batch import Batch


@dataclass(frozen=True, slots=True)
class _SpecialRecord:
    """A record that is unconfirmed, or that shares an offset with another value.

    An unconfirmed record was polled at an offset where no send of the record was acknowledged.
    """

    offset: int  # the last offset at which the record was observed
    writer_op: int  # the operation of the first send that took effect


def count_unconfirmed(
    context: Context,
    applications: dict[int, Application],
    reach: Batch,
    several: Batch,
    polls: Batch,
) -> None:
    """Adds to `applications` how many special records each application received, received twice, or
    skipped.

    A special record is unconfirmed, or shares an offset with another value. `reach` has the lowest
    polled and the highest delivered offset of each application in each topic partition. `several`
    has the acknowledged sends at offsets with several values. `polls` has all polls of special
    records.
    """
    given: defaultdict[int, set[Record]] = defaultdict(set)
    times: defaultdict[tuple[int, Record], list[DeliveredAt]] = defaultdict(list)
    names = ("owner", "key", "value", "op", "position", "offset", "outcome")
    for owner, key, value, op, position, offset, outcome in zip(
        *(polls.ints(name).tolist() for name in names), strict=True
    ):
        if outcome != FAIL:
            given[owner].add((key, value))
        if outcome == OK:
            times[owner, (key, value)].append((op, position, offset))
    for (owner, record), of_record in times.items():
        application = applications[owner]
        application.records += 1
        if len(of_record) > 1:
            application.repeated += 1
            first, second, *_ = sorted(of_record)
            application.keep_earliest(Repeated(second, first, *record))
    records = _special_records(context, several)
    of_key: defaultdict[int, list[Skipped]] = defaultdict(list)
    for (key, value), odd in records.items():
        of_key[key].append(Skipped(key, odd.offset, value, odd.writer_op))
    low = expected_from(context, reach).tolist()
    columns = (reach.ints(name).tolist() for name in ("owner", "key", "high"))
    for owner, key, high, begin in zip(*columns, low, strict=True):
        for it in of_key.get(key, ()):
            if begin <= it.offset < high and (key, it.value) not in given[owner]:
                applications[owner].skipped += 1
                applications[owner].skips.append(it)


def _special_records(context: Context, several: Batch) -> dict[Record, _SpecialRecord]:
    records: dict[Record, _SpecialRecord] = {}
    columns = (several.ints(name).tolist() for name in ("key", "offset", "value", "op"))
    for key, offset, value, op in zip(*columns, strict=True):
        records[key, value] = _SpecialRecord(offset, op)
    committed = set(context.unconfirmed.committed.tolist())
    for record, entry in unconfirmed_records(context.unconfirmed).items():
        records.pop(record, None)
        writer, place = _first_effective_sender(entry, committed), entry.place()
        if writer is not None and place is not None:
            records[record] = _SpecialRecord(place[0], writer)
    return records


def _first_effective_sender(entry: UnconfirmedRecord, committed: set[int]) -> int | None:
    took_effect = (
        op
        for op, role in entry.sent_by
        if role == SEND_OK or (role == SEND_INFO and op in committed)
    )
    return min(took_effect, default=None)
