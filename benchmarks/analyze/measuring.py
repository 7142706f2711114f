"""Every way to check one synthetic history, in turn in one run, and whether all found the same.

    linearizable   offsets and ends in real time
    shared         these, and what else peers can tell: the log, the order of steps
    all            everything that we decide, and delivery semantics; no peer does

What must be found is known, since it was injected. Of a way that finds anything else it is told.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.analyze import costs
from benchmarks.analyze.injection import Injection, Shown, told
from benchmarks.analyze.peers import ASKED, place_of
from benchmarks.analyze.synthesis import Synthesis, synthesize

CHECKS: Final = ("linearizable", "shared", "all")
OURS: Final = ("in-process", "spark")
PEERS: Final = ("duckdb", "polars")
INJECTED: Final = 8  # of each anomaly
_TIMES: Final = ("cpu_s", "system_s", "wall_s", "ready_cpu_s", "ready_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One way, once; getting ready (imports, a session) is not part of the check."""

    way: str
    check: str
    rows: int
    partitions: int
    cpu_s: float
    system_s: float  # of these, spent in the kernel
    wall_s: float
    ready_cpu_s: float
    ready_s: float
    peak_bytes: int  # of the whole tree
    wrong: tuple[str, ...] = ()  # the anomalies of which it found other than was injected

    @property
    def rows_per_cpu_s(self) -> float:
        return self.rows / self.cpu_s

    @property
    def user_s(self) -> float:
        """CPU seconds outside the kernel."""
        return self.cpu_s - self.system_s


def measured(
    rows: int,
    partitions: int,
    *,
    checks: Sequence[str] = CHECKS,
    ways: Sequence[str] = (*OURS, *PEERS),
    runs: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Cost]:
    """Writes a history of about so many rows, checks it in each way, and removes it.

    Peers are asked only for what they do. A way that fails does not stop the others: after them
    all comes an ExceptionGroup.
    """
    failed: list[RuntimeError] = []
    with tempfile.TemporaryDirectory(prefix="urteil-synthetic-") as made:
        folder = Path(made) / "history"
        say(f"writing a history of {rows:,} rows, partitions: {partitions}")
        injection = Injection(each=INJECTED)
        written = synthesize(
            Synthesis(folder=folder, rows=rows, partitions=partitions, injection=injection)
        )
        expected = injection.expected()
        for check in checks:
            for _ in range(runs):
                for way in (way for way in ways if check != "all" or way in OURS):
                    say(f"{check}, {way}")
                    try:
                        yield _once(way, check, folder, written, partitions, expected)
                    except RuntimeError as error:
                        failed.append(error)
    if failed:
        raise ExceptionGroup("some ways failed", failed)


def _once(way: str, check: str, folder: Path, rows: int, partitions: int, expected: Shown) -> Cost:
    printed, peak = costs.run("benchmarks.analyze.ways", way, check, str(folder))
    made: dict[str, Any] = json.loads(printed)
    right = _expected(way, check, expected)
    return Cost(
        way=way,
        check=check,
        rows=rows,
        partitions=partitions,
        peak_bytes=peak,
        wrong=tuple(name for name in right if right[name] != made["found"][name]),
        **{name: round(made[name], 3) for name in _TIMES},
    )


def _expected(way: str, check: str, expected: Shown) -> dict[str, list[list[str]]]:
    """What was injected, as the way tells it."""
    names = [name for name in expected if not ASKED[check] or name in ASKED[check]]
    if way in OURS:
        return {n: sorted(list(map(str, told(row))) for row in expected[n]) for n in names}
    return {
        name: sorted(list(place_of(row, ASKED[check][name])) for row in expected[name])
        for name in names
    }
