"""The analysis of a history in pieces: assumptions first, then the anomalies, family by family.

Written once in inquiries, and so the same wherever the pieces are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies import assumptions, emptiness
from checkers.histories.anomalies.cycles import anti_dependencies, cycles
from checkers.histories.anomalies.delivery import deliveries
from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.anomalies.groups import pipelines
from checkers.histories.anomalies.log import log, own_reads, values
from checkers.histories.anomalies.order import process_order
from checkers.histories.anomalies.real_time import real_time
from checkers.histories.anomalies.transactions import transactions
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import member
from checkers.histories.facts import record_locations, retention
from checkers.histories.io import reading
from checkers.histories.io.recorded import SCHEMA
from checkers.histories.plan.batch import Piece
from checkers.histories.plan.batches import Chunks, Kernel, Pieces
from checkers.histories.plan.stage import (
    OPERATIONS,
    PLACES,
    SENDS,
    Ask,
    Collision,
    Inquiry,
    answered,
)
from properties.anomalies.declarations import Declarations
from properties.delivery import Delivery

FAMILIES: Final[tuple[Family, ...]] = (
    *emptiness.FAMILIES,
    *real_time.FAMILIES,
    *log.FAMILIES,
    *values.FAMILIES,
    *own_reads.FAMILIES,
    *process_order.FAMILIES,
    *transactions.FAMILIES,
    *pipelines.FAMILIES,
    *cycles.FAMILIES,
    *anti_dependencies.FAMILIES,
)
DECIDED: Final = frozenset(name for family in FAMILIES for name in family.ids)
_ASSUMPTIONS: Final[dict[str, Callable[[], Inquiry[Found]]]] = {
    "whole-operations": assumptions.whole,
    "time-goes-forward": assumptions.forward,
    "one-open-operation": assumptions.one_at_a_time,
    "values-are-unique": assumptions.unique_values,
}
_DELIVERY: Final = "delivery semantics"
ROWS_PER_GROUP: Final = 1_000_000
_TOTALS: Final = pa.schema(
    [("operations", pa.int64()), ("micro_operations", pa.int64()), ("started_ns", pa.int64())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """How much a history holds, and when its first operation was invoked."""

    operations: int
    micro_operations: int
    started_ns: int  # 0 if it holds nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Everything that was found of a history: of broken assumptions, else of anomalies."""

    totals: Totals
    odd: pa.Table  # rows that say what none may, as `reading.ODD`
    broken: tuple[Found, ...]
    anomalies: dict[str, Found]
    delivered: tuple[Delivery, ...] = ()  # what each application was, if that was wanted


def at_hand(
    history: Chunks, wanted: Collection[str], *, delivery: bool = False
) -> AbstractContextManager[Chunks]:
    """The history as it is to be looked at, to decide these; unpacked on disk if that is often."""
    return history.unpacked(on_disk=_exchanges(_families(set(wanted)), delivery=delivery))


def decide(
    history: Chunks,
    wanted: Collection[str],
    declared: Declarations,
    groups: int | None = None,
    *,
    delivery: bool = False,
) -> Decided:
    """What is found of these anomalies, and of delivery semantics if they are wanted.

    What is dealt out anew comes into so many groups. If two texts that matter share a fingerprint,
    it is asked again with others.
    """
    for salt in count():
        try:
            with ExitStack() as kept:
                salted = history.salted(salt)
                return _decide(salted, wanted, declared, groups, kept, delivery=delivery)
        except Collision:
            continue
    raise AssertionError


def _decide(
    history: Chunks,
    wanted: Collection[str],
    declared: Declarations,
    groups: int | None,
    kept: ExitStack,
    *,
    delivery: bool,
) -> Decided:
    of_size = groups or 1 + history.rows // ROWS_PER_GROUP
    families = _families(set(wanted))
    exchanges = _exchanges(families, delivery=delivery)

    @cache
    def exchanged() -> Mapping[str, Pieces]:
        return kept.enter_context(history.exchange(record_locations.exchanged(declared), of_size))

    sources: dict[str, Callable[[], Pieces]] = {
        OPERATIONS: lambda: history,
        PLACES: lambda: exchanged()[PLACES],
        SENDS: lambda: exchanged()[SENDS],
    }
    assumed = {name for family in families for name in family.assumes}
    columns = {name for family in families for name in family.columns}
    first: dict[str, Inquiry[Any]] = {
        "odd": odd_rows(tuple(name for name in SCHEMA.names if name in columns)),
        **{name: make() for name, make in _ASSUMPTIONS.items() if name in assumed},
        "totals": totals(),
    }
    then = (
        {}
        if exchanges
        else _asked(families, Known(declared=declared, strays=record_locations.NO_STRAYS))
    )
    if exchanges:
        first["strays"], first["kept"] = record_locations.strays(), retention.kept(declared)
    survey = answered({**first, **then}, sources)
    sought = (survey[name] for name in _ASSUMPTIONS if name in assumed)
    broken = tuple(one for one in sought if one.rows.num_rows)
    found: dict[str, Any] = {}
    if not broken and not survey["odd"].num_rows:
        found = {name: survey[name] for name in then}
        if exchanges:
            known = Known(declared=declared, strays=survey["strays"], kept=survey["kept"])
            more = {_DELIVERY: deliveries.deliveries(known)} if delivery else {}
            found = answered({**_asked(families, known), **more}, sources)
    delivered = found.pop(_DELIVERY, ())
    anomalies = {one.id: one for some in found.values() for one in some if one.id in wanted}
    return Decided(
        totals=survey["totals"],
        odd=survey["odd"],
        broken=broken,
        anomalies=anomalies,
        delivered=delivered,
    )


def _exchanges(families: Iterable[Family], *, delivery: bool) -> bool:
    return delivery or any(family.strays for family in families)


def _asked(families: Iterable[Family], known: Known) -> dict[str, Inquiry[Any]]:
    return {" ".join(family.ids): family.inquiry(known) for family in families}


def _families(wanted: set[str]) -> list[Family]:
    """Those that decide what is wanted, as narrow as they can be."""
    families: list[Family] = []
    for family in FAMILIES:
        while family.narrow is not None and wanted.intersection(family.ids) <= {*family.narrow.ids}:
            family = family.narrow
        if wanted.intersection(family.ids):
            families.append(family)
    return families


# ---------------------------------------------------------------- the history itself


def odd_rows(columns: tuple[str, ...]) -> Inquiry[pa.Table]:
    """For each rule of `COLUMNS` that rows break in these: what it is, and in which operation."""
    kernel = Kernel("rows make sense", columns, reading.ODD, reading.odd_rows, guards=True)
    found = yield Ask(OPERATIONS, kernel)
    return found


def totals() -> Inquiry[Totals]:
    """How much the history holds."""
    kernel = Kernel("counting", ("op", "kind", "invoked_ns"), _TOTALS, _count)
    told = (yield Ask(OPERATIONS, kernel)).to_pydict()
    return Totals(
        operations=sum(told["operations"]),
        micro_operations=sum(told["micro_operations"]),
        started_ns=min(told["started_ns"], default=0),
    )


def _count(piece: Piece) -> pa.Table:
    if not len(piece):
        return _TOTALS.empty_table()
    columns = {
        "operations": [1 + int(np.count_nonzero(np.diff(piece.ints("op"))))],
        "micro_operations": [int(np.count_nonzero(~piece.is_("kind", "none")))],
        "started_ns": [int(piece.ints("invoked_ns").min())],
    }
    return pa.table(columns, schema=_TOTALS)


def rows_of(history: Chunks, ops: Collection[int]) -> pa.Table:
    """The rows of these operations, in order."""
    wanted = np.array(sorted(ops), dtype=np.int64)
    run = partial(_named, wanted)
    says = "the operations that show it"
    (rows,) = history.gather([Kernel(says, tuple(SCHEMA.names), SCHEMA, run, ops=wanted)])
    return rows


def _named(ops: Ints, piece: Piece) -> pa.Table:
    return piece.where(member(piece.ints("op"), ops)).table.cast(SCHEMA)
