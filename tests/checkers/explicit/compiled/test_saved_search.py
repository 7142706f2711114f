"""A search that is interrupted and resumed, many times, has the result of one that is not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from checkers.explicit.checkpoint import Checkpoint
from checkers.explicit.checkpoints import Checkpoints
from checkers.explicit.compiled import engine, saved_search
from checkers.explicit.compiled.engine import Search
from checkers.explicit.compiled.library import Library
from checkers.explicit.exploration import Exploration, Progress, Task
from checkers.explicit.search import chosen, explore
from model.language.spec import Spec
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101
from model.specs import find
from tests.checkers.explicit.compiled.test_spill import MIDDLE

Options = Mapping[str, Any]
NEVER_S = 1e9  # only an interruption writes a checkpoint
HOPS: Mapping[str, tuple[Options, ...]] = {
    "one thread": ({},),
    "two threads": ({"threads": 2},),
    "fingerprints": ({"fingerprints": True}, {"fingerprints": True, "threads": 2}),
    "coverage": ({"coverage": True},),
    "one thread, three, files": ({}, {"threads": 3}, {"memory": MIDDLE}),
}


@pytest.fixture(autouse=True)
def _small_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # for many checkpoints
    monkeypatch.setattr(engine, "PULSE", 512)
    monkeypatch.setattr(engine, "SHARED", 512)
    monkeypatch.setattr(saved_search, "ROWS", 1000)


def in_hops(
    spec: Spec, folder: Path, options: Iterator[Options], *, pulses: int, every_s: float = NEVER_S
) -> tuple[Exploration, list[Search]]:
    """Explores the spec in several searches. Each is interrupted after `pulses` reports of its
    progress, and the next one resumes it.

    Returns the result and all searches, of which the last one was not interrupted.
    """
    kept: Checkpoint | None = None
    searches: list[Search] = []
    for hop in count():
        mine = Checkpoints(folder / str(hop), every_s, {}, "urteil check", resumed=kept)
        task = Task(
            spec=spec,
            claims=chosen(spec, ()),
            checkpoints=mine,
            progress=ctrl_c_after(pulses),
            **next(options),
        )
        searches.append(Search(task))
        found = searches[-1].run()
        if found.why_stopped != "interrupted":
            return replace(found, seconds=0.0), searches
        kept = Checkpoint.read(folder / str(hop))
        assert kept.facts["states"] == found.distinct
    raise AssertionError


def ctrl_c_after(pulses: int) -> Any:
    seen = count()

    def press(at: Progress) -> None:
        if at.depth and next(seen) == pulses:
            raise KeyboardInterrupt

    return press


def whole(spec: Spec, **options: Any) -> Exploration:
    return replace(explore(spec, engine="compiled", **options), seconds=0.0, engine="python")


@pytest.mark.parametrize("name", HOPS)
def test_hops_do_not_change_the_result(name: str, tmp_path: Path) -> None:
    options = HOPS[name]
    common = {k: v for k, v in options[0].items() if k in ("fingerprints", "coverage")}
    found, searches = in_hops(Kip101(), tmp_path, cycle(options), pulses=40)
    assert len(searches) > 3
    assert found == whole(Kip101(), **common)


def test_a_checkpoint_at_every_pulse_does_not_change_the_result(tmp_path: Path) -> None:
    found, _ = in_hops(Kip101(), tmp_path, cycle([{}]), pulses=60, every_s=0.0)
    assert found == whole(Kip101())


def test_states_that_exceed_the_memory_are_restored_in_files(tmp_path: Path) -> None:
    mine = Checkpoints(tmp_path / "first", NEVER_S, {}, "urteil check")
    task = Task(spec=Kip101(), claims=chosen(Kip101(), ()))
    Search(replace(task, checkpoints=mine, progress=ctrl_c_after(130))).run()
    kept, in_files = Checkpoint.read(tmp_path / "first"), list[bool]()
    mine = Checkpoints(
        tmp_path / "second",
        NEVER_S,
        {},
        "urteil check",
        resumed=kept,
        announce=lambda _: in_files.append(search.in_files),
    )
    search = Search(replace(task, checkpoints=mine, memory=1_000_000))
    found = search.run()
    assert in_files == [True], "before the search went on"
    assert replace(found, seconds=0.0) == whole(Kip101())


def test_violations_and_their_traces_survive(tmp_path: Path) -> None:
    spec = TruncateToHighWatermark(replicas=2, max_leader_epoch=2)
    found, searches = in_hops(spec, tmp_path, cycle([{}, {"threads": 2}]), pulses=12)
    assert len(searches) > 3
    assert found.violated
    assert found == whole(spec)


def test_states_with_equal_hashes_are_distinguished_again(tmp_path: Path) -> None:
    spec = Kip101(replicas=2, max_leader_epoch=2)

    def resumed(kept: Checkpoint | None, name: str, pulses: int) -> Exploration:
        mine = Checkpoints(tmp_path / name, NEVER_S, {}, "urteil check", resumed=kept)
        task = Task(spec=spec, claims=chosen(spec, ()), checkpoints=mine)
        search = Search(replace(task, progress=ctrl_c_after(pulses)), hash_bits=12)
        return replace(search.run(), seconds=0.0)

    assert resumed(None, "first", 12).why_stopped == "interrupted"
    assert resumed(Checkpoint.read(tmp_path / "first"), "second", -1) == whole(spec)


@pytest.mark.parametrize("memory", [None, 4_000_000])
def test_transitions_are_kept_for_liveness(memory: int | None, tmp_path: Path) -> None:
    spec = find("classic-group", None).make()
    lively = spec.liveness_properties
    options = {"lively": lively, "memory": memory}
    found, searches = in_hops(spec, tmp_path, cycle([options]), pulses=20)
    assert len(searches) > 2
    graph = searches[-1].graph
    assert graph is not None
    assert bool(graph.files.used) == (memory is not None)
    assert found == whole(spec, liveness=[claim.name for claim in lively])


def test_after_two_threads_there_are_no_transitions(tmp_path: Path) -> None:
    spec = find("classic-group", None).make()
    lively = {"lively": spec.liveness_properties}
    options: list[Options] = [lively, {**lively, "threads": 2}, lively]
    found, searches = in_hops(spec, tmp_path, iter([*options, *[lively] * 50]), pulses=20)
    assert [one.graph is not None for one in searches[:4]] == [True, False, False, False]
    assert found == whole(spec)


def test_ctrl_c_between_two_levels_loses_no_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, moved = find("classic-group", None).make(), count(1)
    does = Library.next_level

    def press_ctrl_c(library: Library) -> int:
        size = does(library)
        if next(moved) % 7 == 0:
            raise KeyboardInterrupt
        return size

    monkeypatch.setattr(Library, "next_level", press_ctrl_c)
    options = cycle([{"lively": spec.liveness_properties}])
    found, searches = in_hops(spec, tmp_path, options, pulses=-1)
    assert len(searches) > 2
    monkeypatch.undo()
    once = Search(Task(spec=spec, claims=chosen(spec, ()), lively=spec.liveness_properties))
    assert found == replace(once.run(), seconds=0.0)
    assert searches[-1].graph is not None
    assert once.graph is not None
    assert searches[-1].graph.levels == once.graph.levels


@pytest.mark.parametrize("name", ["undefined", "failed"])
def test_a_search_that_cannot_go_on_is_not_kept(name: str, tmp_path: Path) -> None:
    def fail_and_press_ctrl_c(at: Progress) -> None:
        if at.distinct > 1000:
            setattr(search.c.found[0], name, 1)
            raise KeyboardInterrupt

    mine = Checkpoints(tmp_path / "one", NEVER_S, {}, "urteil check")
    task = Task(spec=Kip101(), claims=chosen(Kip101(), ()), checkpoints=mine)
    search = Search(replace(task, progress=fail_and_press_ctrl_c))
    assert search.run().why_stopped == "interrupted"
    assert not (tmp_path / "one").exists()
