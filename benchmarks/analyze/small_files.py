"""Measures the analysis of a history of many small files.

    python -m benchmarks.analyze.small_files --files 100000 --rows-per-file 20
    python -m benchmarks.analyze.small_files --files 10000 --in-store --on-spark

The files are Parquet files in folders by date. They are on the local disk, or with `--in-store` in
an S3 server on loopback. The measurement has these steps: the files are listed, their rows are
copied into a few files, and the copy is analyzed in one process. With `--on-spark`, Spark then
analyzes the original files, and the driver lists, reads and copies them again. Each step has a CPU
time, without the CPU time of the server, and a wall time. All steps together have a peak of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.analyze import costs
from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import RESULTS, circumstances, write_results
from checkers.histories.analysis import analyze
from checkers.histories.io.locations import FileSet, Location, location
from checkers.histories.io.reading import parquet_parts
from checkers.histories.io.sources import sources
from checkers.spark.run import analyze_on_spark
from tests.checkers.histories.io.s3_server import Store, served

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
    parser.add_argument("--in-store", action="store_true", help="read the files from an S3 server")
    parser.add_argument("--on-spark", action="store_true", help="analyze the files on Spark too")
    parser.add_argument("--measure", help="only measure the history at this location")
    arguments = parser.parse_args()
    if arguments.measure:
        found = measured(location(arguments.measure), on_spark=arguments.on_spark)
        sys.stdout.write(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(prefix="urteil-small-files-") as made:
        history = Path(made) / "history"
        rows = written(history, arguments.files, arguments.rows_per_file)
        with served() if arguments.in_store else nullcontext() as store:
            place = stored(history, store) if store else str(history)
            options = ["--on-spark"] if arguments.on_spark else []
            output, peak = costs.run(MODULE, "--measure", place, *options)
    facts = {
        "place": "S3 server on loopback" if arguments.in_store else "local disk",
        "files": arguments.files,
        "rows": rows,
        "peak_bytes": peak,
        **json.loads(output),
    }
    sys.stdout.write(f"{json.dumps(facts, indent=1)}\n")
    sys.stdout.write(f"  kept in {keep(facts)}\n")


def stored(history: Path, store: Store) -> str:
    """Moves the files of a folder to the store, and returns their address.

    The server and its credentials are put into the environment of this process, where child
    processes find them.
    """
    store.put("bucket", "history", history)
    shutil.rmtree(history)
    os.environ.update(store.environment())
    return "s3://bucket/history"


def keep(facts: dict[str, Any]) -> Path:
    """Adds the measurement to the results. It replaces an earlier measurement with the same place
    and number of files.
    """
    file = RESULTS / f"{RESULT}.json"
    sizes = json.loads(file.read_text())["sizes"] if file.exists() else []
    case = itemgetter("place", "files")
    others = [one for one in sizes if case(one) != case(facts)]
    sizes = sorted([*others, {**facts, "measured": circumstances()}], key=case)
    return write_results(RESULT, [], {"sizes": sizes})


def written(folder: Path, files: int, rows_per_file: int) -> int:
    """Writes a synthetic history as small files, and returns its number of rows."""
    whole = folder.with_name("whole")
    synthesize(Synthesis(folder=whole, rows=files * rows_per_file))
    parts = sorted(whole.glob("part-*.parquet"))
    rows: int = sum(pq.read_metadata(part).num_rows for part in parts)
    for day in range(DAYS):
        (folder / f"date=2026-11-{day + 1:02}").mkdir(parents=True)
    ends = [rows * number // files for number in range(files + 1)]
    for number, table in enumerate(slices(parts, ends)):
        place = folder / f"date=2026-11-{number * DAYS // files + 1:02}" / f"{number:07}.parquet"
        write_file(table, place)
    return rows


def slices(parts: list[Path], ends: list[int]) -> Iterator[pa.Table]:
    """Yields the rows between each two consecutive row numbers in `ends`. Rows are counted across
    all files.

    Only the needed files are in memory.
    """
    held = pq.read_table(parts[0]).slice(0, 0)
    left = iter(parts)
    for first, end in pairwise(ends):
        while held.num_rows < end - first:
            held = pa.concat_tables([held, pq.read_table(next(left))])
        yield held.slice(0, end - first)
        held = held.slice(end - first)


def write_file(table: pa.Table, place: Path) -> None:
    """Writes the table as Parquet to a new file, by one system call."""
    content = pa.BufferOutputStream()
    pq.write_table(table, content)
    with place.open("xb", buffering=0) as file:
        file.write(content.getvalue())


def measured(history: Location, *, on_spark: bool) -> dict[str, Any]:
    steps: list[Step] = []

    def timed(step: str, work: Callable[[], Any]) -> Any:
        with costs.cpu_counted(os.getpid()) as cpu:
            before, began = cpu(), time.perf_counter()
            result = work()
            wall_s, after = time.perf_counter() - began, cpu()
        cpu_s = sum(after) - sum(before)
        steps.append(Step(step=step, cpu_s=round(cpu_s, 2), wall_s=round(wall_s, 2)))
        return result

    with tempfile.TemporaryDirectory(prefix="urteil-copied-") as copied:
        before = costs.memory(os.getpid())
        found = timed("list the files", lambda: sources(history))
        bytes_by_file = round((costs.memory(os.getpid()) - before) / len(found))
        del found
        copy = timed("list, read and copy them", lambda: parquet_parts(history, Path(copied)))
        files = FileSet("the copy", tuple(copy))
        analysis = timed("analyze the copy", lambda: analyze(files))
    if on_spark:
        timed("list, read, copy and analyze on Spark", lambda: analyze_on_spark(history))
    return {
        "operations": analysis.operations,
        "bytes_by_listed_file": bytes_by_file,
        "steps": [asdict(step) for step in steps],
    }


if __name__ == "__main__":
    main()
