"""`urteil analyze --engine local` imports only what it needs: imports are half of its CPU time."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

LISTED: Final = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from checkers.cli.main import main
main()
"""
OWN: Final = ("checkers", "model", "properties", "reference_impl")
ROOMS: Final = {
    "checkers.cli",
    "checkers.demo",
    "checkers.histories",
    "checkers.over_time",
    "checkers.report",
    "properties.anomalies",
}
PACKAGES: Final = {"click", "jinja2", "markupsafe", "numpy", "pyarrow"}
PARTS_OF_PYARROW: Final = {"acero", "compute", "dataset", "fs", "ipc", "json", "lib", "parquet"}
OF_PYARROW: Final = {"dateutil", "six"}  # it imports them for some types, if they are installed
NEXT_MOVE: Final = (
    "find the import: python -X importtime"
    " -c 'from checkers.cli.main import main; main()' analyze --demo --engine local"
)
SLOW: Final = {"asyncio", "http", "multiprocessing", "secrets", "statistics", "unittest", "xml"}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Runs an analysis with violations, and returns all modules that it imported."""
    # a fixture of a module runs before the one that hides GitHub Actions from a test
    outside_github = {it: os.environ[it] for it in os.environ if not it.startswith("GITHUB_")}
    done = subprocess.run(
        [sys.executable, "-c", LISTED, "analyze", "--demo", "--engine", "local"],
        cwd=tmp_path_factory.mktemp("analyze"),
        env={**outside_github, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def parts(modules: set[str], package: str) -> set[str]:
    """Returns, for each module of a package, the word after the package's name: `b` for `a.b.c`."""
    names = (name.split(".") for name in modules)
    return {name[1] for name in names if name[0] == package and len(name) > 1}


def test_it_imports_no_other_engine_and_no_spec(modules: set[str]) -> None:
    root = Path(__file__).parents[3]
    rooms = {f"{own}.{part}" for own in OWN for part in parts(modules, own)}
    imported = {room for room in rooms if (root / room.replace(".", "/")).is_dir()}
    assert imported == ROOMS, NEXT_MOVE


def test_it_imports_few_packages(modules: set[str]) -> None:
    installed = {file.stem for file in Path(sysconfig.get_path("purelib")).iterdir()}
    of_packages = {name for name in modules if name in installed and name[0] != "_"}
    assert {"click", "pyarrow"} <= of_packages <= PACKAGES | OF_PYARROW, NEXT_MOVE


def test_it_imports_the_used_parts_of_pyarrow(modules: set[str]) -> None:
    public = {part for part in parts(modules, "pyarrow") if part[0] != "_"}
    assert public - {"substrait", "types", "util", "vendored"} <= PARTS_OF_PYARROW, NEXT_MOVE


def test_it_imports_no_slow_module_of_python(modules: set[str]) -> None:
    assert modules & SLOW == set(), NEXT_MOVE
