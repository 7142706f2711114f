"""Peers: the same checks as queries of DuckDB and of Polars, on the same Parquet files.

Of each anomaly both sides are compared by *places*: the cells of a row that tell where it is. A
peer finds places and no more: neither witnesses nor operations, and it checks no assumption.

    LINEARIZABLE    offset-order-inversion and stale-end-offset, exactly as they are defined
    SHARED          these and what a query can tell of the log and of the order of steps

What a query leaves out, in its favour: histories with retention, compaction, dirty reads, offsets
of operations that ended `info`, rebalances and assignments after the first poll. Cycles,
transactions and the offsets of groups are not asked of the peers at all.

Each query is the fastest of those that were tried: see its module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from checkers.histories.analysis import Analysis
from checkers.histories.columnar.rows import as_rows

Place = tuple[str, ...]  # cells as text
Places = dict[str, frozenset[Place]]
Check = Callable[[Path], Places]

_STEP: Final = ("key", "second_op", "second_position")
_VALUE: Final = ("key", "value")
LINEARIZABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "offset-order-inversion": ("key", "offset", "op"),
    "stale-end-offset": ("key", "end_offset", "op"),
}
SHARED: Final[Mapping[str, tuple[str, ...]]] = {
    **LINEARIZABLE,
    "inconsistent-offsets": ("key", "offset"),
    "duplicate": _VALUE,
    "value-nobody-sent": _VALUE,
    "lost-write": _VALUE,
    "unseen": _VALUE,
    "G1a": _VALUE,
    "int-poll-skip": _STEP,
    "int-nonmonotonic-poll": _STEP,
    "poll-skip": _STEP,
    "nonmonotonic-poll": _STEP,
    "int-nonmonotonic-send": _STEP,
    "nonmonotonic-send": _STEP,
}


# by the name of a check; an empty one is everything that there is
ASKED: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "linearizable": LINEARIZABLE,
    "shared": SHARED,
    "all": {},
}
THREADS: Final = 2


def places_of(found: Analysis, told: Mapping[str, tuple[str, ...]]) -> Places:
    """What our analysis found, told as a peer tells it."""
    return {
        one.anomaly.id: frozenset(
            place_of(row, told[one.anomaly.id]) for row in as_rows(one.rows, one.anomaly.row)
        )
        for one in found.decisions
        if one.anomaly.id in told
    }


def place_of(row: Any, names: tuple[str, ...]) -> Place:
    """These cells of a row of an anomaly."""
    return tuple(str(getattr(row, name)) for name in names)


def gathered(rows: Iterable[tuple[Any, ...]], told: Mapping[str, tuple[str, ...]]) -> Places:
    """Rows of the name of an anomaly and a place, by name."""
    found: dict[str, set[Place]] = {name: set() for name in told}
    for name, *place in rows:
        found[name].add(tuple(map(str, place)))
    return {name: frozenset(places) for name, places in found.items()}
