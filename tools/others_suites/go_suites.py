"""Fetches the suites of franz-go with Go's module proxy, builds them, and runs them test by test.

There are two suites:

    kgo     the tests of the client that connect to a cluster of three brokers
    kfake   the tests of the fake cluster; here brokers of Urteil take its place

Both suites need Go. Only the first run needs a network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.testing.broker import PROGRAM, ROOT, Broker
from model.faults import InputFault
from tools.others_suites.go_sources import declarations, is_test, prune, reaching
from tools.others_suites.outputs import go_result
from tools.others_suites.results import Result

HERE: Final = Path(__file__).parent / "kfake"
FRANZ_GO: Final = "github.com/twmb/franz-go"
KFAKE: Final = f"{FRANZ_GO}/pkg/kfake"
KFAKE_VERSION: Final = "v0.0.0-20260918054303-01f206a7e32c"
RECORDS: Final = 5_000
KGO_LIMIT_S: Final = 300.0
KFAKE_LIMIT_S: Final = 90.0
BUILDS_WITHIN_S: Final = 900.0
CONNECTS: Final = ("getSeedBrokers",)
STARTS_A_CLUSTER: Final = ("NewCluster", "MustCluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    path: Path
    tests: Sequence[str]
    skipped: Mapping[str, str]  # test: why


def version_of(module: str) -> str:
    """Returns the version of `module` that kfake/go.mod requires, without the `v`."""
    lines = (HERE / "go.mod").read_text(encoding="utf-8").split()
    return lines[lines.index(module) + 1].removeprefix("v")


def run_kgo(only: Sequence[str]) -> Iterator[Result]:
    """Runs each test of the client in its own process, and yields the results.

    If `only` is not empty, only these tests are run.
    """
    with tempfile.TemporaryDirectory() as temporary:
        program = build_kgo(Path(temporary))
        with Broker(brokers=3) as broker:
            variables = {
                "KGO_SEEDS": broker.bootstrap_servers,
                "KGO_TEST_RECORDS": str(RECORDS),
                "KGO_LOG_LEVEL": "none",
            }
            for test in program.tests:
                if not only or test in only:
                    yield run_test(program.path, test, variables, KGO_LIMIT_S)


def run_kfake(only: Sequence[str]) -> Iterator[Result]:
    """Runs kfake's own tests against the reference broker, and yields the results. Each test starts
    a new cluster of reference brokers.

    If `only` is not empty, only these tests are run.
    """
    command = [sys.executable, "-P", "-c", PROGRAM, ROOT, "broker", "--json"]
    variables = {"URTEIL_BROKER": json.dumps(command)}
    with tempfile.TemporaryDirectory() as temporary:
        for program in build_kfake(Path(temporary)):
            for test, why in program.skipped.items():
                if not only or test in only:
                    yield Result(test=test, outcome="skipped", note=why)
            for test in program.tests:
                if not only or test in only:
                    yield run_test(program.path, test, variables, KFAKE_LIMIT_S)


def build_kgo(folder: Path) -> Program:
    """Builds the tests of the client in the folder. Raises InputFault if the package cannot be
    fetched or built.
    """
    sources = _module(FRANZ_GO, f"v{version_of(FRANZ_GO)}") / "pkg" / "kgo"
    program = folder / "kgo.test"
    _go(sources, "test", "-c", "-o", str(program), ".")
    texts = [path.read_text(encoding="utf-8") for path in sources.glob("*_test.go")]
    return Program(path=program, tests=sorted(reaching(texts, CONNECTS)), skipped={})


def build_kfake(folder: Path) -> Iterator[Program]:
    """Builds the tests of the fake cluster in the folder, and yields one program for each package.

    The programs lack the tests that do not compile.
    """
    fetched = _module(KFAKE, KFAKE_VERSION)
    work = folder / "kfake"
    shutil.copytree(HERE, work)
    for name in (".", "kafka_tests"):
        package = work / name
        package.mkdir(exist_ok=True)
        for path in (fetched / name).glob("*_test.go"):
            text = adapted(path.read_text(encoding="utf-8"))
            (package / path.name).write_text(text, encoding="utf-8")
        before = needing_a_cluster(package)
        program = folder / f"{package.name}.test"
        go = _program()
        compiling = (go, "test", "-c", "-gcflags=-e", "-o", str(program), ".")
        missing = prune(package, compiling)
        skipped = {test: f"needs {_listed(names)} of kfake" for test, names in missing.items()}
        yield Program(
            path=program,
            tests=sorted(needing_a_cluster(package)),
            skipped={test: skipped[test] for test in sorted(before) if test in skipped},
        )


def adapted(text: str) -> str:
    """Returns the text of a kfake test with each broker id plus 1, as Urteil's ids begin with 1.

    >>> adapted("cl.Broker(0).Request(ctx, req)")
    'cl.Broker(1).Request(ctx, req)'
    """
    return re.sub(r"\.Broker\((\d)\)", lambda found: f".Broker({int(found[1]) + 1})", text)


def needing_a_cluster(package: Path) -> set[str]:
    """Returns the tests of a package that use a cluster."""
    texts = [path.read_text(encoding="utf-8") for path in package.glob("*_test.go")]
    declared = {name for text in texts for one in declarations(text) for name in one.names}
    return {test for test in reaching(texts, STARTS_A_CLUSTER) if test in declared}


def _listed(names: Sequence[str]) -> str:
    """Returns the names that begin with a capital letter, or all names if no name does.

    >>> _listed(["ControlKey", "cfg"])
    'ControlKey'
    """
    public = [name for name in names if name[:1].isupper()]
    return ", ".join(public or names) or "internals"


def run_test(program: Path, test: str, variables: Mapping[str, str], limit_s: float) -> Result:
    """Runs a test, and returns its result. At the time limit, the test and all brokers that it
    started are killed.
    """
    assert is_test(test)
    call = [str(program), "-test.v", "-test.run", f"^{test}$"]
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            call,
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as running,
    ):
        exceeded = None
        try:
            output, _ = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            exceeded = limit_s
            os.killpg(running.pid, signal.SIGKILL)
            output, _ = running.communicate()
    return go_result(test, output, time.monotonic() - began, exceeded)


def _module(module: str, version: str) -> Path:
    answer = json.loads(_go(HERE, "mod", "download", "-json", f"{module}@{version}"))
    return Path(answer["Dir"])


def _go(folder: Path, *words: str) -> str:
    ended = subprocess.run(
        [_program(), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=BUILDS_WITHIN_S,
        check=False,
    )
    if ended.returncode:
        said = (ended.stderr.strip() or ended.stdout.strip())[-2000:]
        raise InputFault(f"go {words[0]}: {said}")
    return ended.stdout


def _program() -> str:
    found = shutil.which("go")
    if found is None:
        raise InputFault("there is no `go`: install it, or leave its suites out with --suite")
    return found
