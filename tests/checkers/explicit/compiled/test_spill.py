"""A search that moves states to disk returns the same result as a search in memory."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import pytest

from checkers.explicit.compiled.engine import Search
from checkers.explicit.compiled.spill import Spilled
from checkers.explicit.exploration import Budget, Exploration, Progress, Task
from checkers.explicit.search import chosen, explore
from model.language.interpreter import Interpreter
from model.replication.actions import TruncateToHighWatermark
from model.replication.versions import Kip101
from tests.checkers.explicit.compiled.test_agreement import results

LITTLE = 100_000  # bytes: batches of some thousand successors
HASH_SET = 1_000_000  # bytes: enough for the hash set of 60,106 states, without their halves
MIDDLE = 1_200_000  # bytes: enough for the hash set and the halves, and less than all


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def left_behind(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("urteil-states-*"))


@pytest.mark.parametrize("fingerprints", [False, True])
def test_a_memory_limit_does_not_change_the_result(fingerprints: bool, tmp_path: Path) -> None:
    much = explore(Kip101(), engine="compiled")
    little = explore(Kip101(), engine="compiled", memory=LITTLE, fingerprints=fingerprints)
    assert results(little) == results(much)
    assert left_behind(tmp_path) == []


def test_a_trace_from_disk_is_a_real_run() -> None:
    spec = TruncateToHighWatermark(replicas=2, max_leader_epoch=2)
    trace = explore(spec, engine="compiled", memory=1).discoveries["strong_isr"].trace
    interpreter, actions = Interpreter.of(spec), {a.name: a for a in spec.actions}
    assert len(trace) == 10
    for before, step in pairwise(trace):
        assert interpreter.step(actions[step.action], before.state, step.values) == step.state


@pytest.mark.parametrize("fingerprints", [False, True])
def test_keys_and_parents_in_files_do_not_change_the_result(*, fingerprints: bool) -> None:
    spec = Kip101()
    claims = chosen(spec, ())
    in_memory = explore(spec, engine="compiled")
    search = Search(Task(spec=spec, claims=claims, fingerprints=fingerprints, memory=MIDDLE))
    assert results(search.run()) == results(in_memory)
    assert search.in_files
    assert search.store is search.c


def test_halves_that_exceed_the_memory_move_to_disk_and_the_files_of_keys_are_deleted(
    tmp_path: Path,
) -> None:
    spec, seen = Kip101(), list[tuple[bool, bool, int]]()

    def look(_: Progress) -> None:
        keys = [*tmp_path.glob("urteil-states-*/1-keys"), *tmp_path.glob("*/2-parents")]
        seen.append((search.in_files, isinstance(search.store, Spilled), len(keys)))

    search = Search(Task(spec=spec, claims=chosen(spec, ()), memory=HASH_SET, progress=look))
    assert results(search.run()) == results(explore(spec, engine="compiled"))
    in_memory, in_files, spilled = (False, False, 0), (True, False, 2), (True, True, 0)
    assert list(dict.fromkeys(seen)) == [in_memory, in_files, spilled]


def test_without_files_that_grow_all_states_move_to_sorted_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = Kip101()
    monkeypatch.setattr("checkers.explicit.compiled.engine.HAS_FILES", False)
    search = Search(Task(spec=spec, claims=chosen(spec, ()), memory=MIDDLE))
    assert results(search.run()) == results(explore(spec, engine="compiled"))
    assert isinstance(search.store, Spilled)
    assert not search.in_files


@pytest.mark.parametrize("memory", [None, LITTLE, 1])
def test_states_with_equal_hashes_are_distinguished(memory: int | None) -> None:
    spec = Kip101(replicas=2, max_leader_epoch=2)
    plain = explore(spec, engine="python")
    task = Task(spec=spec, claims=chosen(spec, ()), memory=memory)
    search = Search(task, hash_bits=12)
    assert results(search.run()) == results(plain)
    if memory is not None:
        assert isinstance(search.store, Spilled)
        assert len(search.store.twins) > plain.distinct // 4


def test_fingerprints_that_collide_lose_states() -> None:
    spec = Kip101(replicas=2, max_leader_epoch=2)
    task = Task(spec=spec, claims=chosen(spec, ()), fingerprints=True)
    assert Search(task, hash_bits=12).run().distinct < explore(spec).distinct


def test_an_interruption_leaves_nothing_on_disk(tmp_path: Path) -> None:
    seen: list[Path] = []

    def press_ctrl_c(at: Progress) -> None:
        seen.extend(left_behind(tmp_path))
        if at.distinct > 40_000:
            raise KeyboardInterrupt

    found: Exploration = explore(
        Kip101(), engine="compiled", memory=LITTLE, progress=press_ctrl_c, budget=Budget()
    )
    assert found.why_stopped == "interrupted"
    assert found.discoveries["strong_isr"].steps == 11
    assert seen
    assert left_behind(tmp_path) == []
