"""What an inquiry finds: the rows of an anomaly or an assumption, and on how much they rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from checkers.histories.inquiry import Inquiry
from checkers.histories.places import Strays
from properties.anomalies.declared import Declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All rows of one anomaly or assumption; `observations` counts what could have shown it."""

    id: str
    rows: pa.Table
    observations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a history before any anomaly is decided."""

    declared: Declared
    strays: Strays


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Anomalies that one inquiry decides."""

    ids: tuple[str, ...]
    inquiry: Callable[[Known], Inquiry[tuple[Found, ...]]]
