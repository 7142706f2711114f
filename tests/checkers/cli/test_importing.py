"""While a command imports its modules, Python collects no garbage and NumPy starts no threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from checkers.cli.importing import importing


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_the_collector_is_paused_for_the_block_alone() -> None:
    gc.unfreeze()
    sys.modules.pop("colorsys", None)
    with importing():
        with importing():  # the end of this block must not end the pause
            import_module("colorsys")
        assert not gc.isenabled()
        assert gc.get_freeze_count() == 0
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
    with importing():
        import_module("colorsys")  # it was imported already
    assert gc.get_freeze_count() == 0


def test_the_collector_works_again_after_a_failed_import() -> None:
    with pytest.raises(ModuleNotFoundError), importing():
        import_module("checkers.no_such_module")
    assert gc.isenabled()


NUMPY = """
import os
from checkers.cli.importing import importing
before = dict(os.environ)
with importing():
    import numpy
    print(*(f"{name}={value}" for name, value in os.environ.items() if "NUM_THREADS" in name))
    print(len(os.listdir("/proc/self/task")))
assert dict(os.environ) == before
"""


def importing_numpy(**variables: str) -> list[str]:
    inherited = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", NUMPY],
        env={**inherited, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="on one CPU NumPy starts no threads in any case"
)
def test_numpy_starts_no_threads() -> None:
    assert importing_numpy() == ["OPENBLAS_NUM_THREADS=1", "1"]


@pytest.mark.parametrize("name", ["OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"])
def test_the_number_of_threads_in_the_environment_is_kept(name: str) -> None:
    *variables, _ = importing_numpy(**{name: "2"})
    assert variables == [f"{name}=2"]
