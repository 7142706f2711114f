"""Measures each check by each engine of this project and by each peer, on one synthetic history.

A peer is another query engine, DuckDB or Polars, that runs some of the checks. A *way* is an engine
or a peer. Each of the three checks searches for a set of anomalies:

    linearizable   two violations of real-time order: an offset below the offset of an earlier send
                   (offset-order-inversion), and a log end offset that is too low (stale-end-offset)
    shared         the two anomalies of `linearizable`, and all others that a peer can find:
                   contradictions about the log, such as a lost write, and a wrong order of the
                   operations of a process
    all            all anomalies, and the delivery semantics; peers do not run this check

The anomalies are injected, so the expected result is exact. If the violations of an anomaly differ
from the expected ones, the anomaly is reported as wrong.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.analyze import costs
from benchmarks.analyze.injection import Injection, Shown, own_cells
from benchmarks.analyze.peers import CHECKED, location_of
from benchmarks.analyze.synthesis import Synthesis, synthesize

CHECKS: Final = ("linearizable", "shared", "all")
OURS: Final = ("in-process", "spark")
PEERS: Final = ("duckdb", "polars")
INJECTED: Final = 8  # scenes per anomaly, and changes per kind
_TIMES: Final = ("cpu_s", "system_s", "wall_s", "ready_cpu_s", "ready_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one check in one way (by an engine of Urteil, or by a peer).

    `ready_s` and `ready_cpu_s` are the times before the check, for imports and for the start of the
    engine.
    """

    way: str
    check: str
    rows: int
    partitions: int
    cpu_s: float
    system_s: float  # share of `cpu_s` spent in the kernel
    wall_s: float
    ready_cpu_s: float
    ready_s: float
    peak_bytes: int  # of the process tree
    wrong: tuple[str, ...] = ()  # anomalies whose rows differ from the injected ones

    @property
    def rows_per_cpu_s(self) -> float:
        return self.rows / self.cpu_s

    @property
    def user_s(self) -> float:
        return self.cpu_s - self.system_s


def measured(
    rows: int,
    partitions: int,
    *,
    checks: Sequence[str] = CHECKS,
    ways: Sequence[str] = (*OURS, *PEERS),
    runs: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[Cost]:
    """Generates a history, and yields the cost of each check in each of the `ways`.

    Peers do not run the check `all`. If a way fails, the measurement continues, and an
    ExceptionGroup of all failures is raised at the end.
    """
    failed: list[RuntimeError] = []
    with tempfile.TemporaryDirectory(prefix="urteil-synthetic-") as made:
        folder = Path(made) / "history"
        report(f"writing a history of {rows:,} rows, partitions: {partitions}")
        injection = Injection(each=INJECTED)
        written = synthesize(
            Synthesis(folder=folder, rows=rows, partitions=partitions, injection=injection)
        )
        expected = injection.expected()
        for check in checks:
            for _ in range(runs):
                for way in (way for way in ways if check != "all" or way in OURS):
                    report(f"{check}, {way}")
                    try:
                        yield _once(way, check, folder, written, partitions, expected)
                    except RuntimeError as error:
                        failed.append(error)
    if failed:
        raise ExceptionGroup("some ways failed", failed)


def _once(way: str, check: str, folder: Path, rows: int, partitions: int, expected: Shown) -> Cost:
    output, peak = costs.run("benchmarks.analyze.ways", way, check, str(folder))
    result: dict[str, Any] = json.loads(output)
    right = _expected(way, check, expected)
    return Cost(
        way=way,
        check=check,
        rows=rows,
        partitions=partitions,
        peak_bytes=peak,
        wrong=tuple(name for name in right if right[name] != result["found"][name]),
        **{name: round(result[name], 3) for name in _TIMES},
    )


def _expected(way: str, check: str, expected: Shown) -> dict[str, list[list[str]]]:
    names = [name for name in expected if not CHECKED[check] or name in CHECKED[check]]
    if way in OURS:
        return {n: sorted(list(map(str, own_cells(row))) for row in expected[n]) for n in names}
    return {
        name: sorted(list(location_of(row, CHECKED[check][name])) for row in expected[name])
        for name in names
    }
