"""The explained plan has the stages that analyses execute, with the same names and columns."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import checkers.histories
from checkers.histories import deciding, explanation
from checkers.histories.anomalies import assumptions
from checkers.histories.explanation import PlannedPass, PlannedStage, every_anomaly, planned
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.scheduler import Pass
from model.histories import History
from properties.anomalies.catalogue import named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.scenes import SCENES, scene

CYCLES = Declarations(ww_deps=True, rw_deps=True)
SELECTIONS: tuple[tuple[tuple[str, ...], Declarations], ...] = (
    ((), CYCLES),
    (("offset-order-inversion", "stale-end-offset"), NOTHING_DECLARED),  # without a shuffle
    ((), Declarations(jepsen=True)),
)
ROOM = Path(checkers.histories.__file__).parent
Site = tuple[str, int, int]


def stages(passes: tuple[PlannedPass, ...]) -> Iterator[tuple[str, PlannedStage]]:
    return ((one.source, stage) for one in passes for stage in one.stages)


def executed(h: History, declared: Declarations, *anomalies: str) -> list[Pass]:
    passes: list[Pass] = []
    dataset = LocalDataset(partitions_of([TableRows(as_table(h))], 7))
    wanted, delivery = deciding.wanted_by(named(anomalies, declared), declared)
    deciding.decide(dataset, wanted, declared, delivery=delivery, observe=passes.append)
    return passes


@pytest.fixture(scope="module")
def plan() -> tuple[PlannedPass, ...]:
    return planned(named((), CYCLES), CYCLES)


@pytest.mark.parametrize("anomaly", SCENES)
def test_an_analysis_executes_stages_of_the_plan(
    plan: tuple[PlannedPass, ...], anomaly: str
) -> None:
    known = {(source, stage.name): stage for source, stage in stages(plan)}
    names = set()
    for one in executed(scene(anomaly, 0), CYCLES):
        for kernel in one.used_by:
            stage = known[one.source.value, kernel.title]
            assert {*kernel.columns} <= {*stage.reads}
            names.add(kernel.title)
    assert {stage.name for _, stage in stages(plan) if stage.is_always} <= names


def kernels_in_code() -> frozenset[Site]:
    """Returns each place in the code that makes a `Kernel`: the file, the first and last line."""
    return frozenset(
        (str(file), node.lineno, node.end_lineno or 0)
        for file in ROOM.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Kernel"
    )


def kernels_explained(monkeypatch: pytest.MonkeyPatch, h: History) -> frozenset[Site]:
    """Explains query plans. Returns each place in the code that makes a kernel meanwhile.

    A kernel is a function that runs on a batch of rows. To explain a plan, `planned` runs the plan
    on the history `h`.
    """
    lines: dict[str, set[int]] = {}
    initialise: Any = Kernel.__init__

    def noted(self: Kernel, *words: Any, **cells: Any) -> None:
        frame = sys._getframe(1)
        lines.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        initialise(self, *words, **cells)

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "__init__", noted)
        patch.setattr(explanation, "every_anomaly", lambda: h)
        for names, declared in SELECTIONS:
            planned(named(names, declared), declared)
        deciding.rows_kernel(())
    return frozenset(
        (file, first, end)
        for file, first, end in kernels_in_code()
        if any(first <= line <= end for line in lines.get(file, ()))
    )


def test_every_kernel_of_the_code_is_in_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = kernels_in_code() - kernels_explained(monkeypatch, every_anomaly())
    # it describes a broken assumption, after which no anomaly is decided
    (overlapping,) = (site for site in missing if site[0] == assumptions.__file__)
    assert missing == {overlapping}


def test_a_history_without_suspicious_rows_hides_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = kernels_explained(monkeypatch, scene("precommitted-read", 0))
    assert len(kernels_in_code() - explained) > 10


def test_a_stage_names_the_anomalies_that_need_it(plan: tuple[PlannedPass, ...]) -> None:
    used = {anomaly for _, stage in stages(plan) for anomaly in stage.used_by}
    assert used == {*(one.id for one in named((), CYCLES)), deciding.DELIVERY}
    of = {stage.name: stage.used_by for _, stage in stages(plan)}
    assert of["unread values"] == ("lost-write",)
    assert of["shuffling by location"] == ()


def test_one_anomaly_needs_a_part_of_the_plan(plan: tuple[PlannedPass, ...]) -> None:
    alone = planned(named(("lost-write",)), NOTHING_DECLARED)
    names = {stage.name for _, stage in stages(alone)}
    assert {"shuffling by location", "unread values"} <= names
    assert names < {stage.name for _, stage in stages(plan)}
    cheap = planned(named(("stale-end-offset",)), NOTHING_DECLARED)
    assert {one.source for one in cheap} == {"operations"}
    assert not any(one.into for one in cheap)


def test_a_shuffle_names_its_key_and_its_sources(plan: tuple[PlannedPass, ...]) -> None:
    (shuffle,) = (one for one in plan if one.into)
    assert shuffle.into == ("record locations", "sends")
    assert [stage.shuffled_by for stage in shuffle.stages] == [
        ("key", "block of 65,536 offsets"),
        ("value",),
    ]
    assert all("shuffle_key" not in stage.keeps for stage in shuffle.stages)
