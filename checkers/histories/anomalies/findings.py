"""What an inquiry finds: the rows of an anomaly or an assumption, and on how much they rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from checkers.histories.facts.record_locations import Strays
from checkers.histories.facts.retention import ALL_KEPT, Kept
from checkers.histories.plan.stage import Inquiry
from model.histories import COLUMNS
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.declarations import Declarations


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All rows of one anomaly or assumption; `observations` counts what could have shown it."""

    id: str
    rows: pa.Table
    observations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a history before any anomaly is decided."""

    declared: Declarations
    strays: Strays
    kept: Kept = ALL_KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Anomalies that one inquiry decides.

    It stands on some assumptions, and on the columns that are checked for odd rows. `strays` tells
    whether it asks for them: without, nothing is exchanged on its behalf.
    """

    ids: tuple[str, ...]
    inquiry: Callable[[Known], Inquiry[tuple[Found, ...]]]
    assumes: tuple[str, ...] = tuple(one.id for one in ASSUMPTIONS)
    columns: tuple[str, ...] = tuple(COLUMNS)
    strays: bool = True
    narrow: Family | None = None  # decides some of them at less cost, if no other is wanted
