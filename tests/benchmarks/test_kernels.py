"""docs/kernels.md has the figures of the recorded measurement, with the CPU time of every
kernel.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.analyze import flame_graph
from benchmarks.analyze.kernels import (
    OTHER,
    PAGE,
    RESULT,
    SHOWN,
    cpu_of_kernels,
    kept,
    page,
    rows_of_kernels,
)
from benchmarks.analyze.synthesis import Synthesis, synthesize
from checkers.histories.analysis import analyze

KEPT, SAMPLED = kept(RESULT), kept(flame_graph.RESULT)


def test_the_page_is_made_of_the_kept_result() -> None:
    assert PAGE.read_text() == page(KEPT, SAMPLED)
    assert PAGE.read_text() != page({**KEPT, "rows": 7}, SAMPLED)


def test_the_kernels_and_all_else_make_up_the_whole() -> None:
    spent = [one["cpu_s"] for one in KEPT["kernels"]]
    assert sum(spent) == pytest.approx(KEPT["cpu_s"], rel=0.2)  # medians, each of its own
    large = [one["kernel"] for one in KEPT["kernels"] if one["cpu_s"] >= SHOWN * KEPT["cpu_s"]]
    assert OTHER in large
    assert all(f"| {kernel} |" in page(KEPT, SAMPLED) for kernel in large)


def test_each_kernel_that_runs_is_measured(tmp_path: Path) -> None:
    synthesize(Synthesis(folder=tmp_path / "h", rows=2_000, partitions=2))
    analysis = analyze(tmp_path / "h")
    spent = cpu_of_kernels(analysis)
    assert spent.keys() == rows_of_kernels(analysis).keys()
    assert {"reading columns", "steps", "log ends"} <= {kernel for _, kernel in spent}
    assert sum(spent.values()) < sum(one.seconds for one in analysis.passes)
