"""Measures the CPU time of each kernel of `urteil analyze`, and writes the page docs/kernels.md.

A kernel is a function from rows of a history to a table.

    python -m benchmarks.analyze.kernels           # a million rows: about a minute
    python -m benchmarks.analyze.kernels --page    # writes the page from the kept result

The analysis runs in this process, and searches for all anomalies. If several kernels need a derived
column, such as hashes of texts, its cost counts for the first of these kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.analyze import flame_graph
from benchmarks.analyze.synthesis import Synthesis, synthesize
from benchmarks.pairs import RESULTS, write_results
from checkers.histories.analysis import Analysis, analyze
from checkers.histories.plan import cost

RUNS: Final = 5
RESULT: Final = "kernels"
PAGE: Final = Path(__file__).parents[2] / "docs" / "kernels.md"
SHOWN: Final = 0.01  # share of the CPU time of a kernel with a row of its own
OTHER: Final = "all else: splitting and merging rows, verdicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCost:
    """The CPU time of one kernel (a computation on columns) on one source of rows, over all passes
    over the rows.

    The work of reading columns counts as a kernel of its own.
    """

    reads: str  # the source of its rows
    kernel: str
    rows: int  # that the passes read
    cpu_s: float  # median of the runs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyze.kernels")
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--partitions", type=int, default=256)
    parser.add_argument("--page", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    if not arguments.page:
        with tempfile.TemporaryDirectory(prefix="urteil-synthetic-") as made:
            history = Path(made) / "history"
            options = Synthesis(
                folder=history, rows=int(arguments.rows), partitions=arguments.partitions
            )
            facts = {
                "rows": synthesize(options),
                "partitions": arguments.partitions,
                "runs": RUNS,
                "load": round(os.getloadavg()[0], 1),
                **measured(history),
            }
        sys.stdout.write(f"  kept in {write_results(RESULT, [], facts)}\n")
    PAGE.write_text(page(kept(RESULT), kept(flame_graph.RESULT)))
    sys.stdout.write(f"  written: {PAGE}\n")


def measured(history: Path) -> dict[str, Any]:
    cost.perf_counter = time.process_time  # other work on the machine costs no CPU time here
    runs: list[dict[tuple[str, str], float]] = []
    analyze(history)  # a warm-up
    for _ in range(RUNS):
        began = time.process_time()
        analysis = analyze(history)
        total = time.process_time() - began
        spent = cpu_of_kernels(analysis)
        runs.append({**spent, ("", OTHER): total - sum(spent.values())})
    rows = rows_of_kernels(analysis)
    kernels = [
        KernelCost(
            reads=source,
            kernel=kernel,
            rows=rows.get((source, kernel), 0),
            cpu_s=round(statistics.median(run[source, kernel] for run in runs), 4),
        )
        for source, kernel in runs[0]
    ]
    return {
        "cpu_s": round(statistics.median(sum(run.values()) for run in runs), 4),
        "kernels": [asdict(one) for one in kernels],
    }


def cpu_of_kernels(analysis: Analysis) -> dict[tuple[str, str], float]:
    """Returns the CPU seconds in all passes, by two keys: the source of the rows, and the
    kernel.
    """
    spent: dict[tuple[str, str], float] = {}
    for one in analysis.passes:
        for kernel, of_kernel in one.stages().items():
            key = (one.source, kernel)
            spent[key] = spent.get(key, 0.0) + of_kernel.seconds
    return spent


def rows_of_kernels(analysis: Analysis) -> dict[tuple[str, str], int]:
    rows: dict[tuple[str, str], int] = {}
    for one in analysis.passes:
        for kernel in one.stages():
            rows[one.source, kernel] = rows.get((one.source, kernel), 0) + one.rows
    return rows


def kept(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return result


def page(kept: dict[str, Any], sampled: dict[str, Any]) -> str:
    """Returns the page: the CPU time of each kernel, with the largest time first, and the flame
    graph.

    `kept` has the measured times, and `sampled` the samples of the flame graph.
    """
    kernels = [KernelCost(**one) for one in kept["kernels"]]
    return "\n".join((*_top(kept), *_table(kernels, kept["cpu_s"]), *_flame_graph(sampled))) + "\n"


def _top(kept: dict[str, Any]) -> Iterator[str]:
    machine, versions = kept["machine"], kept["versions"]
    rate = kept["rows"] / kept["cpu_s"] / 1e6
    yield "<!-- Written by benchmarks/analyze/kernels.py: do not edit. -->"
    yield "# Where the time of an analysis goes"
    yield ""
    yield (
        f"`urteil analyze --engine local` looked for all anomalies in a synthetic history of "
        f"{kept['rows']:,} rows and {kept['partitions']} partitions. It took {kept['cpu_s']:.2f} s "
        f"of CPU after the start of Python: {rate:.2f} million rows per CPU second. Figures are "
        f"medians of {kept['runs']} runs on {machine['cores']} cores of {machine['cpu']} with a "
        f"load of {kept['load']}, with Python {machine['python']}, NumPy {versions['numpy']} and "
        f"pyarrow {versions['pyarrow']}."
    )
    yield ""
    yield (
        "A *kernel* is a function from a batch of rows to a table; `urteil analyze --explain` "
        "prints which anomalies use it. It reads a *source*: the operations of the history, or the "
        "rows that an earlier pass shuffled. The first kernel that needs a derived column, such as "
        "the fingerprints of texts, pays for it. The column *rows read* counts the rows "
        "of all passes over the source. "
        "`python -m benchmarks.analyze.kernels` measures again, and writes this page; "
        "`benchmarks/results/kernels.json` has every kernel."
    )
    yield ""


def _table(kernels: Sequence[KernelCost], total_s: float) -> Iterator[str]:
    yield "| kernel | source | rows read | CPU, ms | share | million rows per CPU second |"
    yield "|---|---|---|---|---|---|"
    large = [one for one in kernels if one.cpu_s >= SHOWN * total_s]
    small = [one for one in kernels if one.cpu_s < SHOWN * total_s]
    of_small = KernelCost(
        reads="",
        kernel=f"{len(small)} other kernels, each below {SHOWN:.0%}",
        rows=0,
        cpu_s=sum(one.cpu_s for one in small),
    )
    for one in [*sorted(large, key=lambda it: -it.cpu_s), of_small]:
        rate = f"{one.rows / one.cpu_s / 1e6:.1f}" if one.rows and one.cpu_s else ""
        rows = f"{one.rows:,}" if one.rows else ""
        yield (
            f"| {one.kernel} | {one.reads} | {rows} | {one.cpu_s * 1e3:,.0f} | "
            f"{one.cpu_s / total_s:.1%} | {rate} |"
        )


def _flame_graph(sampled: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "## Flame graph"
    yield ""
    yield (
        "A box is a function; its width is its share of the samples, including the functions that "
        "it calls, which are the boxes below it. Boxes are ordered by width, not by time; a box "
        "without boxes below it spent its time itself, or in native code."
    )
    yield ""
    yield f"![Flame graph of urteil analyze]({flame_graph.PICTURE.name})"
    yield ""
    yield (
        f"py-spy {sampled['py-spy']} took {sum(sampled['stacks'].values()):,} samples of `urteil "
        f"analyze --engine local` while it ran, on a history of {sampled['rows']:,} rows and "
        f"{sampled['partitions']} partitions. The start of the command and its report are included."
        " `python -m benchmarks.analyze.flame_graph` samples again, and draws the picture; opened "
        "on its own, it names each box under the pointer."
    )


if __name__ == "__main__":
    main()
