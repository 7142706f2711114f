"""Runs one check in a separate process, and prints its results and costs as JSON.

A *way* is an engine of Urteil, or a peer such as DuckDB.

    python -m benchmarks.analyze.ways in-process linearizable FOLDER

The setup (imports, the start of a Spark session) is measured separately from the check. The modules
of Urteil are imported as the command `urteil` imports them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from benchmarks.analyze.costs import cpu_counted
from benchmarks.analyze.peers import CHECKED, THREADS
from checkers.cli.importing import importing

Check = Callable[[Path], dict[str, list[list[str]]]]


def _of_ours(analyze: Callable[..., Any], check: str) -> Check:
    from benchmarks.analyze.injection import own_cells, shown

    chosen = tuple(CHECKED[check])

    def run(history: Path) -> dict[str, list[list[str]]]:
        rows = shown(analyze(history, anomalies=chosen))
        return {name: sorted(list(map(str, own_cells(row))) for row in rows[name]) for name in rows}

    return run


def _of_a_peer(peer: Any, check: str) -> Check:
    query = peer.linearizable if check == "linearizable" else peer.everything

    def run(history: Path) -> dict[str, list[list[str]]]:
        return {name: sorted(map(list, locations)) for name, locations in query(history).items()}

    return run


@contextmanager
def _in_process(check: str) -> Generator[Check]:
    with importing():
        from checkers.histories.analysis import analyze

    yield _of_ours(analyze, check)


@contextmanager
def _on_spark(check: str) -> Generator[Check]:
    with importing():
        from checkers.spark.run import analyze_on_spark
        from checkers.spark.session import session

    with session():
        yield _of_ours(analyze_on_spark, check)


def _in_duckdb(check: str) -> Any:
    from benchmarks.analyze import in_duckdb

    return nullcontext(_of_a_peer(in_duckdb, check))


def _in_polars(check: str) -> Any:
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)  # Polars reads this when it is imported
    from benchmarks.analyze import in_polars

    return nullcontext(_of_a_peer(in_polars, check))


WAYS: Final[dict[str, Callable[[str], Any]]] = {
    "in-process": _in_process,
    "spark": _on_spark,
    "duckdb": _in_duckdb,
    "polars": _in_polars,
}


def main(way: str, check: str, folder: str) -> None:
    started = time.perf_counter()
    with cpu_counted(os.getpid()) as cpu, WAYS[way](check) as run:
        ready, ready_cpu = time.perf_counter(), cpu()
        found = run(Path(folder))
        done, done_cpu = time.perf_counter(), cpu()
        result = {
            "ready_s": ready - started,
            "ready_cpu_s": sum(ready_cpu),
            "wall_s": done - ready,
            "cpu_s": sum(done_cpu) - sum(ready_cpu),
            "system_s": done_cpu.system_s - ready_cpu.system_s,
            "found": found,
        }
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
