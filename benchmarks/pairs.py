"""Measures two functions in turn, A B A B, and the ratio of each pair of runs.

The speed of a machine changes within a minute, so a ratio is computed only from neighbouring runs.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from checkers.report.repository import commit_of

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The minimum, the median and the maximum over all runs except the warm-up, in seconds or as a
    ratio.
    """

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Figure:
        low, mid, high = min(values), statistics.median(values), max(values)
        return cls(least=round(low, 4), median=round(mid, 4), most=round(high, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The times of two functions that do the same work, and the ratio of these times."""

    ours: str
    baseline: str
    runs: int
    ours_s: Figure
    baseline_s: Figure
    ratio: Figure  # ours over baseline: below 1 is faster


def paired(
    ours: tuple[str, Callable[[], object]],
    baseline: tuple[str, Callable[[], object]],
    *,
    runs: int = 5,
    own: bool = False,
) -> Pairing:
    """Runs both functions in turn, and returns their times in seconds and the ratios.

    If `own` is True, each function returns its own time, and there is no warm-up.
    """
    for _, work in () if own else (ours, baseline):  # a warm-up
        work()
    spent = [(_timed(ours[1], own=own), _timed(baseline[1], own=own)) for _ in range(runs)]
    return pairing(ours[0], baseline[0], spent)


def pairing(ours: str, baseline: str, spent: Sequence[tuple[float, float]]) -> Pairing:
    """Returns the times and the ratios of the pairs of runs. `spent` has the seconds of each
    pair.
    """
    return Pairing(
        ours=ours,
        baseline=baseline,
        runs=len(spent),
        ours_s=Figure.of([a for a, _ in spent]),
        baseline_s=Figure.of([b for _, b in spent]),
        ratio=Figure.of([a / b for a, b in spent]),
    )


def _timed(work: Callable[[], object], *, own: bool) -> float:
    started = time.perf_counter()
    said = work()
    return float(str(said)) if own else time.perf_counter() - started


def write_results(
    name: str, pairings: list[Pairing], facts: Mapping[str, object] | None = None
) -> Path:
    """Writes the result file, and returns its path.

    The file also has the machine, the versions of packages, and the circumstances of this call. If
    `facts` has rows of earlier calls, each row has its own circumstances in the field `measured`.
    """
    result = {
        "written": circumstances(),
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        "versions": {p: version(p) for p in ("urteil", "pyspark", "z3-solver", "numpy", "pyarrow")},
        "pairings": [asdict(p) for p in pairings],
        **(facts or {}),
    }
    file = RESULTS / f"{name}.json"
    file.write_text(json.dumps(result, indent=1) + "\n")
    return file


def circumstances() -> dict[str, object]:
    """Returns the time in UTC, the processor, the load averages and the git commit.

    The commit is None if it is not available. `uncommitted` is True if a tracked file differs from
    the commit.
    """
    commit = commit_of(Path(__file__).parent)
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit and commit.hash,
        "uncommitted": commit and commit.uncommitted,
        "load": [round(load, 1) for load in os.getloadavg()],
        "cpu": cpu_model(),
    }


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
