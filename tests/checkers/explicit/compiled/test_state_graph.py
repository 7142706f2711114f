"""The graph of a compiled search equals the graph of the search in plain Python, in memory and in
files.
"""

from __future__ import annotations

import resource
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EFBIG, ENOSPC
from os import strerror
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.explicit.actions import Program
from checkers.explicit.compiled import state_graph
from checkers.explicit.compiled.engine import Search
from checkers.explicit.compiled.fair_cycles import ARRAYS, MASKS
from checkers.explicit.compiled.library import NO_MEMORY, REFUSED, TOO_MANY
from checkers.explicit.compiled.state_graph import StateGraph
from checkers.explicit.exploration import Budget, Discovery, Progress, Stop, Task
from checkers.explicit.instance import Instance
from checkers.explicit.lassos import Judge
from checkers.explicit.liveness import decide, with_liveness
from checkers.explicit.search import explore
from checkers.explicit.transitions import Transitions
from model.faults import InputFault
from model.language.spec import Spec
from model.specs import all_variants
from model.variants import Variant

ENOUGH = 10**9  # bytes
# Small variants with each kind of claim and of fairness; the compiled code is that of
# `test_agreement`, where the constants are equal.
QUICK = [
    v
    for v in all_variants()
    if (v.spec, v.name) in {("replication", "truncate-to-hw"), ("replication", "never-truncates")}
    or (v.default and v.spec in {"classic-group", "consumer-group"})
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert not list(tmp_path.glob("urteil-states-*"))


def label(variant: Variant) -> str:
    return f"{variant.spec}-{variant.name}"


@contextmanager
def graph_of(spec: Spec, memory: int = ENOUGH) -> Iterator[StateGraph]:
    task = Task(spec=spec, claims=(), lively=spec.liveness_properties)
    search = Search(task, graph_memory=memory)
    with search.searched() as why:
        assert (why, search.graph is not None) == ("exhausted", True)
        assert search.graph is not None
        yield search.graph


def needed(variant: Variant) -> tuple[int, int]:
    """Returns how many bytes the graph of a variant needs in memory: if all of it is in memory, and
    if its large arrays are in files.
    """
    with graph_of(variant.make(variant.at)) as graph:
        return graph.bytes_in_memory(), graph.bytes_on_disk()


ON_BOTH = pytest.mark.parametrize("files", [False, True], ids=["in-memory", "in-files"])


@ON_BOTH
@pytest.mark.parametrize("variant", QUICK, ids=label)
def test_the_graph_is_that_of_plain_python(variant: Variant, files: bool) -> None:
    spec = variant.make(variant.at)
    oracle = Transitions.of(Program(Instance.of(spec)), Budget())
    with graph_of(spec, needed(variant)[files]) as graph:
        cycles, source = graph.cycles, graph.library.source
        assert bool(graph.files.used) == files
        assert [graph.state(k) for k in range(graph.library.count())] == list(oracle.states)
        assert graph.initial == oracle.initial
        degrees = np.diff(cycles.offsets)
        assert (np.repeat(np.arange(len(degrees)), degrees) == oracle.source).all()
        assert cycles.targets.tolist() == oracle.target.tolist()
        labels = list(map(source.instance, range(len(source.action_of_instances))))
        expected = [oracle.program.labels[label] for label in oracle.label]
        assert [labels[label] for label in cycles.labels] == expected
        starts = np.searchsorted(oracle.depths, range(int(oracle.depths[-1]) + 1))
        assert cycles.levels.tolist() == [*starts, len(oracle.states)]
        for claim in spec.liveness_properties:
            values = [graph.at.elements(p.sort)[-1] for p in claim.params]
            for formula in ("premise", "goal"):
                where = graph.where(claim, formula, values)
                assert (where == oracle.where(claim, formula, values)).all()


@pytest.mark.parametrize("variant", QUICK, ids=label)
def test_verdicts_and_lassos_are_those_of_plain_python(variant: Variant) -> None:
    spec, (in_memory, in_files) = variant.make(variant.at), needed(variant)
    expected = decide(spec, engine="python")
    assert decide(spec, engine="compiled", memory=in_memory) == expected
    assert decide(spec, engine="compiled", memory=in_files) == expected


@pytest.mark.parametrize("variant", QUICK, ids=label)
def test_a_graph_fits_into_exactly_the_memory_that_it_needs(variant: Variant) -> None:
    spec, (in_memory, in_files) = variant.make(variant.at), needed(variant)
    assert in_files < in_memory
    for memory, files in ((in_memory, False), (in_memory - 1, True), (in_files, True)):
        with graph_of(spec, memory) as graph:
            assert bool(graph.files.used) == files
    for found in decide(spec, engine="compiled", memory=in_files - 1).values():
        assert found.verdict == "undecided"
        assert "above the limit" in found.reason


@ON_BOTH
def test_a_verdict_takes_as_much_memory_as_was_computed(files: bool) -> None:
    variant = max(QUICK, key=needed)
    spec = variant.make(variant.at)
    with graph_of(spec, needed(variant)[files]) as graph:
        judge, states = Judge(graph, graph.cycles), graph.library.count()
        expected = states * (MASKS if files else MASKS + ARRAYS)
        tracemalloc.start()
        for claim in spec.liveness_properties:
            assert judge.verdict(claim).verdict == "holds"
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0.7 * expected < most < expected, (most, expected)


LEASES = QUICK[-1].make(QUICK[-1].at)
LIVELY = [claim.name for claim in LEASES.liveness_properties]


def lively(spec: Spec, memory: int | None = None) -> dict[str, Discovery]:
    """Returns the verdicts of one search on the liveness properties of a spec."""
    found = explore(spec, engine="compiled", liveness=LIVELY, memory=memory)
    return {name: one for name, one in found.discoveries.items() if name in LIVELY}


def test_the_search_that_decides_safety_also_decides_liveness() -> None:
    assert lively(LEASES) == decide(LEASES, engine="python")


def test_what_one_search_cannot_decide_is_decided_by_a_second_one() -> None:
    expected, (_, in_files) = decide(LEASES, engine="python"), needed(QUICK[-1])
    options: Sequence[dict[str, Any]] = ({"threads": 2}, {"fingerprints": True}, {"memory": 1})
    for how in options:
        found = explore(LEASES, engine="compiled", liveness=LIVELY, **how)
        assert not found.discoveries.keys() & set(LIVELY)
        every = with_liveness(LEASES, found, LIVELY, memory=in_files).discoveries
        assert {name: every[name] for name in LIVELY} == expected


def test_a_search_goes_on_without_a_graph_that_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_graph, "MOST_MEMORY", needed(QUICK[-1])[1] - 1)
    on_disk: list[int] = []

    def look(_: Progress) -> None:
        on_disk.append(len([*tmp_path.glob("urteil-states-*/*")]))

    found = explore(LEASES, engine="compiled", liveness=LIVELY, progress=look)
    assert found.exhausted
    assert list(dict.fromkeys(on_disk)) == [0, 3]  # three arrays in files
    assert on_disk[-1] == 0
    for name in LIVELY:
        assert found.discoveries[name].reason.endswith("set --memory")
    assert with_liveness(LEASES, found, LIVELY) is found


def test_without_files_a_graph_needs_all_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory, _ = needed(QUICK[-1])
    monkeypatch.setattr(state_graph, "HAS_FILES", False)
    for memory, verdict in ((in_memory, "holds"), (in_memory - 1, "undecided")):
        assert decide(LEASES, engine="compiled", memory=memory)[LIVELY[0]].verdict == verdict


def test_a_budget_of_time_ends_the_check_of_liveness() -> None:
    def late(at: Progress) -> None:
        if at.liveness:
            raise Stop("seconds")

    found = explore(LEASES, engine="compiled", liveness=LIVELY, progress=late)
    assert (found.exhausted, found.discoveries[LIVELY[0]].reason) == (
        True,
        "liveness needs every state: the budget of seconds is spent",
    )


def test_more_transitions_than_numbers_leave_liveness_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state_graph, "MOST", 10_000)
    found = decide(LEASES, engine="compiled")[LIVELY[0]]
    assert found.reason == "liveness needs every state: more than 10,000 transitions"


def test_a_file_that_may_not_grow_is_an_error_of_the_system() -> None:
    _, little = needed(QUICK[-1])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=strerror(EFBIG)):
            decide(LEASES, engine="compiled", memory=little)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_the_number_of_its_error() -> None:
    with graph_of(LEASES) as graph:
        graph.library.found[0].failed = REFUSED + ENOSPC
        with pytest.raises(OSError, match=strerror(ENOSPC)) as error:
            graph.library.check_memory()
    assert error.value.errno == ENOSPC


@pytest.mark.parametrize(
    ("failed", "advice"), [(NO_MEMORY, "set --memory"), (TOO_MANY, "use --engine spark")]
)
def test_a_search_that_cannot_go_on_names_the_next_move(failed: int, advice: str) -> None:
    with graph_of(LEASES) as graph:
        graph.library.found[0].failed = failed
        with pytest.raises(InputFault, match=advice):
            graph.library.check_memory()
