"""Each spec is compiled once, by any supported C compiler; without one, another engine runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers import compiler
from checkers.cache import cache
from checkers.compiler import CannotCompile
from checkers.explicit.search import explore
from model.replication.versions import Kip320

SPEC = Kip320(replicas=2, max_leader_epoch=2)


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(cache("compiled").parents[1] / "zig"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def objects() -> list[Path]:
    return sorted(cache("compiled").iterdir())


@pytest.mark.parametrize("name", [None, "zig"])
def test_the_systems_compiler_and_that_of_the_wheel_both_work(
    name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("URTEIL_CC", raising=False)
    if name:
        monkeypatch.setenv("URTEIL_CC", name)
    found = explore(SPEC, engine="compiled")
    assert ("ziglang" in compiler.command()) == (name == "zig")
    assert (found.engine, found.distinct, found.generated) == ("compiled", 5_881, 11_523)


def test_without_a_system_compiler_that_of_the_wheel_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "ziglang" in compiler.command()


def test_each_spec_is_compiled_once() -> None:
    explore(SPEC, engine="compiled")
    (first,) = objects()
    written = first.stat().st_mtime_ns
    explore(Kip320(replicas=2, max_leader_epoch=2), engine="compiled", properties=["weak_isr"])
    assert [(file, file.stat().st_mtime_ns) for file in objects()] == [(first, written)]
    explore(Kip320(replicas=2, max_leader_epoch=1), engine="compiled")
    assert len(objects()) == 2


def test_without_a_compiler_the_next_engine_runs_with_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("URTEIL_CC", "no-such-compiler")
    found = explore(SPEC, engine="compiled")
    assert found.engine != "compiled"
    assert found.distinct == 5_881
    assert found.notes[0] == (
        "engine compiled: URTEIL_CC names no-such-compiler, which is not installed"
    )


def test_source_that_does_not_compile_is_declined() -> None:
    with pytest.raises(CannotCompile, match=r"cannot compile main.c: .*error"):
        compiler.library({"main.c": "this is no C"}, "main.c")
    assert objects() == []


def test_a_cache_that_cannot_be_written_is_declined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CannotCompile, match="cannot be used"):
        compiler.library({"main.c": "int one(void) { return 1; }"}, "main.c")
