"""Measures the analysis of a history of many small files.

    python -m benchmarks.analyze.small_files --files 100000 --rows-per-file 20

The files are Parquet in folders by date, on the local disk. The files are listed, their rows are
copied into a few files, and the copy is analysed in this process. Each step has a CPU time and a
wall time, and all have a peak of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.analyze import costs
from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import RESULTS, write_results
from checkers.histories.analysis import analyze
from checkers.histories.io.locations import FileSet
from checkers.histories.io.reading import parquet_parts
from checkers.histories.io.sources import sources

RESULT: Final = "small_files"
DAYS: Final = 30
MODULE: Final = "benchmarks.analyze.small_files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    step: str
    cpu_s: float
    wall_s: float


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rows-per-file", type=int, default=20)
    parser.add_argument("--measure", type=Path, help="only measure the history in this folder")
    arguments = parser.parse_args()
    if arguments.measure:
        sys.stdout.write(json.dumps(measured(arguments.measure)))
        return
    with tempfile.TemporaryDirectory(prefix="urteil-small-files-") as made:
        history = Path(made) / "history"
        rows = written(history, arguments.files, arguments.rows_per_file)
        output, peak = costs.run(MODULE, "--measure", str(history))
    facts = {
        "files": arguments.files,
        "rows": rows,
        "peak_bytes": peak,
        **json.loads(output),
    }
    sys.stdout.write(f"{json.dumps(facts, indent=1)}\n")
    sys.stdout.write(f"  kept in {keep(facts)}\n")


def keep(facts: dict[str, Any]) -> Path:
    """Adds the measurement, in place of an earlier one with the same number of files."""
    file = RESULTS / f"{RESULT}.json"
    sizes = json.loads(file.read_text())["sizes"] if file.exists() else []
    others = [one for one in sizes if one["files"] != facts["files"]]
    sizes = sorted([*others, facts], key=lambda one: int(one["files"]))
    return write_results(RESULT, [], {"sizes": sizes})


def written(folder: Path, files: int, rows_per_file: int) -> int:
    """Writes a synthetic history as small files; returns its number of rows."""
    whole = folder.with_name("whole")
    synthesize(Synthesis(folder=whole, rows=files * rows_per_file))
    parts = sorted(whole.glob("part-*.parquet"))
    rows = sum(pq.read_metadata(part).num_rows for part in parts)
    for day in range(DAYS):
        (folder / f"date=2026-11-{day + 1:02}").mkdir(parents=True)
    ends = [rows * number // files for number in range(files + 1)]
    for number, table in enumerate(slices(parts, ends)):
        place = folder / f"date=2026-11-{number * DAYS // files + 1:02}" / f"{number:07}.parquet"
        write_file(table, place)
    return rows


def slices(parts: list[Path], ends: list[int]) -> Iterator[pa.Table]:
    """The rows from each end to the next, with one part in memory at a time."""
    held = pq.read_table(parts[0]).slice(0, 0)
    left = iter(parts)
    for first, end in pairwise(ends):
        while held.num_rows < end - first:
            held = pa.concat_tables([held, pq.read_table(next(left))])
        yield held.slice(0, end - first)
        held = held.slice(end - first)


def write_file(table: pa.Table, place: Path) -> None:
    """Writes the bytes of `pq.write_table` to a new file by one system call."""
    content = pa.BufferOutputStream()
    pq.write_table(table, content)
    with place.open("xb", buffering=0) as file:
        file.write(content.getvalue())


def measured(history: Path) -> dict[str, Any]:
    steps: list[Step] = []

    def timed(step: str, work: Callable[[], Any]) -> Any:
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        seconds = (time.process_time() - cpu, time.perf_counter() - wall)
        steps.append(Step(step=step, cpu_s=round(seconds[0], 2), wall_s=round(seconds[1], 2)))
        return result

    with tempfile.TemporaryDirectory(prefix="urteil-copied-") as copied:
        before = costs.memory(os.getpid())
        found = timed("list the files", lambda: sources(history))
        bytes_by_file = round((costs.memory(os.getpid()) - before) / len(found))
        del found
        copy = timed("list, read and copy them", lambda: parquet_parts(history, Path(copied)))
        files = FileSet("the copy", tuple(copy))
        analysis = timed("analyze the copy", lambda: analyze(files))
    return {
        "operations": analysis.operations,
        "bytes_by_listed_file": bytes_by_file,
        "steps": [asdict(step) for step in steps],
    }


if __name__ == "__main__":
    main()
