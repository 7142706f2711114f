"""Runs the integration tests of confluent-kafka-python from a checkout of its repository.

The package on PyPI has no tests, so they are copied from the checkout. They run with the client
that requirements.txt pins. The tests start clusters with the package trivup. The folder stand_in/
has a replacement of trivup that starts `urteil broker`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from checkers.cache import cache
from checkers.testing.broker import ROOT
from model.faults import InputFault
from tools.others_suites.outputs import junit_results
from tools.others_suites.results import Result

HERE: Final = Path(__file__).parent / "stand_in"
FOLDERS: Final = ("admin", "consumer", "producer", "serialization")
LIMIT_S: Final = 120
FILE_LIMIT_S: Final = 600.0
# Packages that the tests import besides the client. Some belong to the schema registry, which is
# imported but not used.
PACKAGES: Final = (
    "attrs",
    "authlib",
    "avro",
    "cachetools",
    "certifi",
    "fastavro",
    "googleapis-common-protos",
    "httpx",
    "jsonschema",
    "orjson",
    "protobuf",
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "requests",
)


def version_in(checkout: Path) -> str:
    """Returns the version of the client, and the version of the tests in the checkout.

    Raises InputFault if the folder is not a checkout of confluent-kafka-python.
    """
    found = None
    project = checkout / "pyproject.toml"
    if project.exists() and (checkout / "tests" / "integration").is_dir():
        found = re.search(r'^version = "(\S+)"', project.read_text(encoding="utf-8"), re.M)
    if found is None:
        raise InputFault(
            f"--checkout {checkout}: not a checkout of confluent-kafka-python; clone its repository"
        )
    return f"{version('confluent-kafka')}, tests of {found[1]}"


def run_confluent(checkout: Path, only: Sequence[str]) -> Iterator[Result]:
    """Runs all tests that need no schema registry, file by file, and yields their results.

    If `only` is not empty, runs only the files that contain a test in `only`.
    """
    python = _environment()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        shutil.copytree(checkout / "tests", work / "tests")
        integration = work / "tests" / "integration"
        for path in sorted(one for name in FOLDERS for one in (integration / name).glob("test_*")):
            if not only or any(name.startswith(f"{path.stem}::") for name in only):
                yield from _run_file(python, work, path)


def _run_file(python: Path, work: Path, path: Path) -> Iterator[Result]:
    report = work / "report.xml"
    report.unlink(missing_ok=True)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={LIMIT_S}")
    call = [str(python), *words, f"--junitxml={report}", str(path.relative_to(work))]
    # the stand-in finds the broker's Python and packages in these variables
    places = {"PYTHONPATH": str(HERE), "URTEIL_PYTHON": sys.executable, "URTEIL_ROOT": ROOT}
    with subprocess.Popen(
        call,
        cwd=work,
        env={**os.environ, **places},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as running:
        try:
            running.wait(timeout=FILE_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
    if report.exists():
        yield from junit_results(report.read_text(encoding="utf-8"))
    else:
        note = "the process ended without a result"
        yield Result(test=f"{path.stem}::", outcome="failed", note=note)


def _environment() -> Path:
    """Returns the Python of a virtual environment that has the pinned version of confluent-kafka
    and the packages that its tests need. Raises InputFault if pip cannot install them.
    """
    client = f"confluent-kafka=={version('confluent-kafka')}"
    folder = cache("others-suites") / client
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if ready.exists():
        return python
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", client, *PACKAGES]
    ended = subprocess.run(install, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise InputFault(f"pip cannot install {client} and what its tests need: {ended.stderr}")
    ready.touch()
    return python
