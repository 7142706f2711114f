"""Runs tests against a mutant, in a copy of the source tree and in a new process.

The outcomes are:

    killed    an assertion of a test failed, or the test called `pytest.fail`; a line of a test such
              as `(row,) = rows` asserts the number of rows
    crash     tests failed only by other exceptions, or by assertions in Urteil's own code;
              or the process died
    timeout   a test used too much processor time, or all tests together took too long
    survived  every test passed

Only `killed` means that the tests notice the mutant.

The process is forked from a process that has imported the large libraries, but no code of Urteil.
Hypothesis draws the same examples each time, stores no examples, and does not shrink.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final, Literal, NamedTuple, NoReturn

import pytest
from hypothesis import HealthCheck, Phase, settings

from tools.mutants.mutations import Mutant
from tools.mutants.raising import Calls

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = ("model", "reference_impl", "properties", "checkers", "tests", "tools", "docs")
LIBRARIES: Final = ("numpy", "pyarrow.compute", "hypothesis.stateful", "networkx", "cramjam")
TEST_CPU_S: Final = 4.0  # of each test, beyond five times its time without a mutant
LIMIT_S: Final = 900.0  # of all tests together: it ends those that wait without using the processor
ASSERTING: Final = (
    "model",
    "reference_impl",
    "checkers",
)  # an assertion that fails here is a crash

RESULT: Final = "verdict.json"
PLUGINS_OFF: Final = ("-p", "no:randomly", "-p", "no:cacheprovider")
EARLY: Final = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # hypothesis is imported already
OPTIONS: Final = ("-q", "--tb=native", "-n", "0", "--timeout=0", *PLUGINS_OFF, *EARLY)

# Exit codes of pytest without a verdict, for example because a conftest.py cannot be imported.
NOTHING_RAN: Final = (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)

Outcome = Literal["killed", "crash", "timeout", "survived"]
# After so many of them, the remaining tests are not run: a later assertion could still fail.
FAILURES: Final[Mapping[Outcome, int]] = {"killed": 1, "crash": 20, "timeout": 5}


class Selection(NamedTuple):
    """The tests in a file or folder. If `named` is not empty, only tests whose name contains it are
    selected.
    """

    path: str
    named: str = ""

    def has(self, test: str) -> bool:
        """Returns True if the test is selected. `test` is a node id of pytest."""
        file, _, name = test.partition("::")
        return Path(file).is_relative_to(self.path) and self.named in name


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of the tests on a mutant.

    `test` is the test that decided the outcome, or empty if there is no such test. `error` is the
    error of this test, or the reason why there is no result.
    """

    outcome: Outcome
    test: str = ""
    error: str = ""
    cpu_s: Mapping[str, float] = field(default_factory=dict[str, float])  # of each test that ran
    calls: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    ran: int = 0  # calls that ran the changed statement; 0 if the mutant needed new imports
    raised: int = 0  # those of them that ended in the most frequent exception


class Copy:
    """A copy of the source tree in a temporary folder. Mutants change only this copy."""

    def __init__(self, root: Path = ROOT) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="urteil-mutants-"))
        folders = [name for name in COPIED if (root / name).exists()]
        ignored = shutil.ignore_patterns("__pycache__")
        for name in folders:
            shutil.copytree(root / name, self.folder / name, ignore=ignored)
        for file in (*root.glob("*.toml"), *root.glob("*.md")):
            shutil.copy(file, self.folder)
        # Checked by their hashes: a mutant can have the size and the time of what it replaces.
        compiled = (sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash")
        subprocess.run([*compiled, *folders], cwd=self.folder, check=True)

    def attempt(
        self, mutant: Mutant, tests: Sequence[Selection], cpu_s: Mapping[str, float]
    ) -> Verdict:
        """Runs the tests against a mutant, and returns their verdict.

        `cpu_s` has the CPU time of each test without the mutant.
        """
        with self.mutated(mutant):
            return self._run(Watch(tests, cpu_s, spare_s=TEST_CPU_S))

    @contextmanager
    def mutated(self, mutant: Mutant) -> Generator[tuple[bytes, bytes]]:
        """Changes the mutant's file for the duration of a `with` block.

        Yields the source of the file before and after the change.
        """
        file = self.folder / mutant.file
        source = file.read_bytes()
        changed = mutant.applied(source)
        file.write_bytes(changed)
        try:
            yield source, changed
        finally:
            file.write_bytes(source)

    def _run(self, watch: Watch) -> Verdict:
        child = os.fork()
        if child == 0:
            run_tests(self.folder, watch)
        return wait_for(child, self.folder)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def preload() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)


def wait_for(child: int, folder: Path) -> Verdict:
    """Waits for a process that runs tests, and returns its verdict. When the process has ended or
    has exceeded `LIMIT_S` seconds, kills all processes that it started.
    """
    result = folder / RESULT
    result.unlink(missing_ok=True)
    until = time.monotonic() + LIMIT_S
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            _kill(child)
            os.waitpid(child, 0)
            return Verdict(outcome="timeout", error=f"{LIMIT_S:.0f} s")
        time.sleep(0.02)
    _kill(child)
    if not result.exists():
        return Verdict(outcome="crash", error=f"the process ended with {ended[1]}")
    return Verdict(**json.loads(result.read_text(encoding="utf-8")))


def _kill(child: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def run_tests(folder: Path, watch: Watch) -> NoReturn:
    """Runs tests in this process, writes their verdict to a file, and ends the process."""
    try:
        os.setsid()
        printed = os.open(folder / "printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor in (1, 2):
            os.dup2(printed, descriptor)
        os.chdir(folder)
        sys.dont_write_bytecode = False  # rewritten tests are kept for the next mutant
        os.environ["PYTHONPATH"] = str(folder)
        sys.path.insert(0, str(folder))
        for name in [name for name in sys.modules if name.split(".")[0] in COPIED]:
            del sys.modules[name]  # the tree's own modules, so that the copy's are imported
        places = dict.fromkeys(one.path for one in watch.tests if Path(one.path).exists())
        temporary = f"--basetemp={folder / 'temporary'}"
        code = pytest.main([*OPTIONS, temporary, *places], plugins=[watch])
        if code in NOTHING_RAN:
            os._exit(code)
        (folder / RESULT).write_text(json.dumps(asdict(watch.verdict())), encoding="utf-8")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


class _OutOfTime(BaseException):
    """Raised if a test uses too much CPU time. An `except Exception` in the product does not catch
    it.
    """


class Watch:
    """A plugin of pytest that collects the failures of the tests.

    It ends the session at the first test that kills the mutant, or after several crashes or
    timeouts.
    """

    def __init__(
        self, tests: Sequence[Selection], cpu_s: Mapping[str, float], spare_s: float
    ) -> None:
        self.tests, self.allowed, self.spare_s = tests, cpu_s, spare_s
        self.used: dict[str, float] = {}
        self.calls: dict[str, list[str]] = {}
        self.failures: list[tuple[Outcome, str, str]] = []
        self.changed_calls = Calls()

    def verdict(self) -> Verdict:
        order = ("killed", "timeout", "crash")
        worst = min(self.failures, key=lambda it: order.index(it[0]), default=("survived", "", ""))
        outcome, test, error = worst
        ran, raised = self.changed_calls.ran, self.changed_calls.raised
        return Verdict(
            outcome=outcome,
            test=test,
            error=error,
            cpu_s=self.used,
            calls=self.calls,
            ran=ran,
            raised=raised,
        )

    def pytest_sessionstart(self) -> None:
        # tests/conftest.py has already loaded its own profile
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutants",
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("mutants")
        signal.signal(signal.SIGPROF, _out_of_time)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        rank = {item: self._rank(item) for item in items}
        items[:] = sorted((it for it in items if rank[it] < len(self.tests)), key=rank.__getitem__)

    def _rank(self, item: pytest.Item) -> int:
        chosen = (one.has(item.nodeid) for one in self.tests)
        return next((n for n, is_so in enumerate(chosen) if is_so), len(self.tests))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.used[nodeid] = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 5 * self.allowed.get(nodeid, 0.0) + self.spare_s)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.used[nodeid] = time.process_time() - self.used[nodeid]

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[None]
    ) -> None:
        assert call.excinfo is not None
        error = call.excinfo.value
        outcome = _outcome(error)
        self.failures.append((outcome, node.nodeid, _line(error, node.config.rootpath)))
        session = node.session
        if sum(one == outcome for one, *_ in self.failures) >= FAILURES[outcome]:
            session.shouldstop = f"{outcome} by {node.nodeid}"


def _out_of_time(_signal: int, _frame: FrameType | None) -> None:
    raise _OutOfTime


def _outcome(error: BaseException) -> Outcome:
    if isinstance(error, _OutOfTime):
        return "timeout"
    some = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    return "killed" if any(_is_kill(one) for one in some) else "crash"


def _is_kill(error: BaseException) -> bool:
    *_, (frame, _line_number) = traceback.walk_tb(error.__traceback__)
    raised_in = Path(frame.f_code.co_filename)
    if isinstance(error, AssertionError | pytest.fail.Exception):
        return not any(raised_in.is_relative_to(Path.cwd() / folder) for folder in ASSERTING)
    unpacks = isinstance(error, ValueError) and " values to unpack (" in str(error)
    return unpacks and raised_in.is_relative_to(Path.cwd() / "tests")


def _line(error: BaseException, folder: Path) -> str:
    # Paths in the copy become relative, and other temporary paths are removed, because they
    # differ in each run.
    text = " ".join(f"{type(error).__name__}: {error}".split()).replace(f"{folder}/", "")
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/[^\s'\"]*", "…", text)
    return text if len(text) <= 160 else f"{text[:159]}…"
