"""The integration tests of confluent-kafka-python, run from a checkout of its repository.

A copy of its tests runs with the client that requirements.txt pins, because the package on PyPI has
none. They start clusters with the package trivup, which stand_in/ replaces by `urteil broker`.
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
# What the test package imports besides the client; its schema registry is imported, not used.
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
    """Raises InputFault if the folder is no checkout of confluent-kafka-python."""
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
    """The results of the tests that need no schema registry, file by file."""
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
    """The Python of a virtual environment with this Python's version of confluent-kafka."""
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
