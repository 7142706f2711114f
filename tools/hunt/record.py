"""The record of all runs of the hunt (`tools.hunt`), including the runs that found nothing.

`benchmarks/results/hunt.json` has one run per line, and lines are only added. After a violation, a
person fills in `finding`: the name of a page in docs/findings/, or the reason why there is no page.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

KEPT: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "hunt.json"
Ended = Literal["holds", "violated", "undecided", "interrupted", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The recorded result of one run. `violated` has the anomalies that the settings do not
    permit.
    """

    seed: int
    day: str
    version: str
    workload: str
    acks: str
    replicas: int
    verdict: Ended
    seconds: float
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    features: Mapping[str, int] = field(default_factory=dict[str, int])
    faults: Mapping[str, int] = field(default_factory=dict[str, int])  # by kind, as done
    changes: Mapping[str, int] = field(default_factory=dict[str, int])  # by kind, as accepted
    operations: int = 0
    violated: tuple[str, ...] = ()
    permitted: tuple[str, ...] = ()  # anomalies that the settings permit
    reason: str = ""  # why the run is undecided, interrupted or failed
    known: str = ""  # the plan of a known defect
    finding: str = ""


def kept(path: Path = KEPT) -> tuple[Row, ...]:
    """Returns the recorded runs, the oldest run first, or () if there is no file."""
    if not path.exists() or not path.stat().st_size:
        return ()
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(
        replace(Row(**row), violated=tuple(row["violated"]), permitted=tuple(row["permitted"]))
        for row in rows
    )


def add(row: Row, path: Path = KEPT) -> None:
    """Adds a run to the file hunt.json. Waits while another process adds a run."""
    path.touch()
    with path.open("rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        lines = ",\n".join(json.dumps(asdict(one)) for one in (*kept(path), row))
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def next_seed(rows: tuple[Row, ...]) -> int:
    """Returns the lowest seed that is higher than all recorded seeds."""
    return max((row.seed for row in rows), default=0) + 1
