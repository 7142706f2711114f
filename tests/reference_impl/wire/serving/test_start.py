"""`urteil broker` imports no heavy package before it is ready. Such an import would delay every
start.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reference_impl.wire.messages.kio_schemas import hidden

MAIN = """
import atexit, sys
from checkers.cli.main import main
atexit.register(lambda: print(*sys.modules))
main()
"""
HEAVY = (
    "pyspark", "z3", "hypothesis", "pytest", "trio", "numpy", "pyarrow", "scipy", "pandas",
    "networkx", "confluent_kafka", "jinja2", "rich", "properties",
)  # fmt: skip
# All messages have these parts of kio in common.
COMMON = {"errors", "index", "types", "request_header", "response_header"}


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Starts `urteil broker` until it is ready; returns the names of the imported modules."""
    call = [sys.executable, "-c", MAIN, "broker"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("ready: ")
        broker.terminate()
        *_, modules = broker.stdout.read().splitlines()
    return {*modules.split()}


def test_a_broker_starts_without_heavy_packages(imported: set[str]) -> None:
    packages = {name.split(".")[0] for name in imported}
    assert {"reference_impl", "kio", "click"} <= packages, "the names were not read"
    assert not packages & {*HEAVY}


def test_a_broker_starts_without_the_schemas_of_requests(imported: set[str]) -> None:
    schemas = {name.split(".")[2] for name in imported if name.startswith("kio.schema.")}
    assert "errors" in schemas
    assert schemas <= COMMON


def test_a_hidden_package_can_be_imported_afterwards() -> None:
    name = "wsgiref"
    assert name not in sys.modules
    with hidden(name), pytest.raises(ModuleNotFoundError):
        __import__(name)
    assert __import__(name).__name__ == name


def test_an_imported_package_stays_visible() -> None:
    with hidden("pytest"):
        assert __import__("pytest") is pytest


def test_nothing_imports_kio_except_the_module_of_schemas() -> None:
    """Only the module `kio_schemas` imports kio.

    kio imports Hypothesis if it can, and this delays the start. `kio_schemas` hides Hypothesis from
    kio; a module that imports kio earlier would load Hypothesis.
    """
    wire = Path(__file__).parents[4] / "reference_impl"
    found = {
        path.name
        for path in wire.rglob("*.py")
        for line in path.read_text().splitlines()
        if line.strip().startswith(("from kio", "import kio"))
    }
    assert found == {"kio_schemas.py"}
