"""Peers: query engines (DuckDB, Polars) that run the same checks on the same Parquet files.

Results are compared by *locations*: the fields of a violation that locate it, such as its key. A
peer finds only locations, and checks no assumption.

Two sets of anomalies are compared:

    LINEARIZABLE    offset-order-inversion and stale-end-offset, exactly as defined
    SHARED          the anomalies of LINEARIZABLE, and anomalies of the log and of the order within
                    a process, if a query can find them

The queries do less work than the checks of this project, because they assume a simple history:

- no retention, no compaction, no dirty reads, and no rebalances;
- no offset in an operation that ended `info`;
- no assignment after the first poll.

Peers do not check cycles, transactions or the offsets of groups. Each query is the fastest of
several queries that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

Location = tuple[str, ...]  # cells as text
Locations = dict[str, frozenset[Location]]
Check = Callable[[Path], Locations]

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


# by the name of a check; an empty mapping stands for all anomalies
CHECKED: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "linearizable": LINEARIZABLE,
    "shared": SHARED,
    "all": {},
}
THREADS: Final = 2


def location_of(row: Any, names: tuple[str, ...]) -> Location:
    return tuple(str(getattr(row, name)) for name in names)


def as_locations(
    rows: Iterable[tuple[Any, ...]], columns: Mapping[str, tuple[str, ...]]
) -> Locations:
    """Returns the occurrences of each anomaly as tuples of strings.

    For example, the row `("G1a", "t-0", 5)` becomes `("t-0", "5")` in the set of `G1a`.
    """
    found: dict[str, set[Location]] = {name: set() for name in columns}
    for name, *location in rows:
        found[name].add(tuple(map(str, location)))
    return {name: frozenset(locations) for name, locations in found.items()}
