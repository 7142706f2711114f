"""Tries mutants in forks of one process that has imported the product and collected the tests.

In a fork, the functions that a mutant changes get their new code, so nothing is imported again. The
tests that call a changed function run first, in the order of their time, and then all others. So
the result is the same as in `trying`, which imports everything again.

A fork cannot try a change of a line that runs during the imports, such as a table. `trying` tries
such a change.
"""

from __future__ import annotations

import ast
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

import pytest

from tools.mutants.mutations import Mutant
from tools.mutants.raising import counting
from tools.mutants.recorded import PRODUCT, Cache, NotGreen, Recorded
from tools.mutants.trying import (
    LIMIT_S,
    TEST_CPU_S,
    Copy,
    Selection,
    Verdict,
    Watch,
    run_tests,
    wait_for,
)

NOTED_S: Final = 1.0  # a test that runs longer counts as one that calls every function
_Change = tuple[str, bytes, bytes, int]  # a file, its source before and after, the changed line
_Request = tuple[Sequence[str], _Change | None]  # tests; they are recorded without a change


class Forks:
    def __init__(self, copy: Copy, tests: Sequence[Selection], cache: Cache) -> None:
        self.copy = copy
        self._requests, theirs = (Connection(end.detach()) for end in socket.socketpair())
        self._process = os.fork()
        if self._process == 0:
            self._requests.close()
            server = _Server(tests, cache, theirs)
            sys.settrace(server.note)
            run_tests(copy.folder, server)
        theirs.close()
        self.cache, self.all_tests = cache, self._answer()
        self.cpu_s = cache.read(self.all_tests).cpu_s

    def record(self, tests: Sequence[Selection]) -> None:
        """Runs tests that are not recorded yet, and stores their CPU times and the functions that
        they call.

        Raises NotGreen if a test fails, or if no test is selected.
        """
        chosen = self._chosen(tests)
        if unknown := [test for test in chosen if test not in self.cpu_s]:
            self.cache.add(Verdict(**self._send(unknown, None)))
            self.cpu_s = self.cache.read(self.all_tests).cpu_s
        elif not chosen:
            raise NotGreen("no test ran")

    def attempt(self, mutant: Mutant, tests: Sequence[Selection]) -> Verdict | None:
        """Returns the verdict of the tests on a mutant, or None if the mutant needs new imports.

        `record` must have run the tests before.
        """
        with self.copy.mutated(mutant) as (before, after):
            answer = self._send(self._chosen(tests), (mutant.file, before, after, mutant.line))
        return answer and Verdict(**answer)

    def _chosen(self, tests: Sequence[Selection]) -> list[str]:
        return [test for test in self.all_tests if any(one.has(test) for one in tests)]

    def _send(self, tests: Sequence[str], change: _Change | None) -> Any:
        self._requests.send((tests, change))
        return self._answer()

    def _answer(self) -> Any:
        try:
            return self._requests.recv()  # plain data: the server has imported this module again
        except EOFError:
            printed = (self.copy.folder / "printed.txt").read_text(encoding="utf-8")
            raise NotGreen(f"the tests cannot be collected:\n{printed}") from None

    def close(self) -> None:
        self._requests.close()
        os.waitpid(self._process, 0)


class _Server(Watch):
    """A pytest plugin that tests each mutant in a fork of the process."""

    def __init__(self, tests: Sequence[Selection], cache: Cache, requests: Connection) -> None:
        super().__init__(tests, {}, spare_s=LIMIT_S)
        self.cache, self.requests, self.records = cache, requests, False
        self.folder = f"{cache.tree}/"
        self.called: dict[int, CodeType] = {}
        self.ran: set[CodeType] = set()  # during the imports and the collection
        self.functions: dict[CodeType, list[FunctionType]] = {}

    def note(self, frame: FrameType, _event: str, _arg: object) -> None:
        self.called[id(frame.f_code)] = frame.f_code

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        sys.settrace(None)
        self.ran = {code for code in self.called.values() if self._is_product(code)}
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and self._is_product(one.__code__):
                self.functions.setdefault(one.__code__, []).append(one)
        gc.freeze()
        if session.testsfailed:
            return None  # pytest prints why it cannot collect the tests, and the process ends
        items = {item.nodeid: item for item in session.items}
        self.requests.send([*items])
        while (request := self._request()) is not None:
            tests, change = request
            try:
                changed = [] if change is None else [*self._changed(*change)]
            except _NeedsImports:
                self.requests.send(None)
                continue
            if self._is_fork():
                session.items[:] = (items[test] for test in tests)
                if change is None:
                    signal.signal(signal.SIGVTALRM, lambda *_: self._note_calls(None))
                    self.records = True
                else:
                    self._apply(changed)
                    session.items.sort(key=self._order(changed, self.cache.read(tests)))
                return None  # pytest runs the tests, and the process ends
        return True

    def _request(self) -> _Request | None:
        try:
            request: _Request | None = self.requests.recv()
        except (EOFError, ConnectionResetError):  # no more mutants
            return None
        return request

    def _is_fork(self) -> bool:
        """Forks the process. Returns True in the child process. In the parent process, waits until
        the child has ended, sends its verdict, and returns False.
        """
        child = os.fork()
        if child == 0:
            os.setsid()
            return True
        self.requests.send(asdict(wait_for(child, self.cache.tree)))
        return False

    def _is_product(self, code: CodeType) -> bool:
        return code.co_filename.removeprefix(self.folder).partition("/")[0] in PRODUCT

    def _changed(
        self, file: str, before: bytes, after: bytes, line: int
    ) -> Iterator[tuple[CodeType, CodeType]]:
        texts = (ast.parse(before), counting(after, line))
        old, new = (compile(it, self.folder + file, "exec", dont_inherit=True) for it in texts)
        yield from self._pairs(old, new, is_live=False)

    def _pairs(
        self, old: CodeType, new: CodeType, *, is_live: bool
    ) -> Iterator[tuple[CodeType, CodeType]]:
        is_live = is_live or old in self.functions
        nested, others = _nested(old), _nested(new)
        if _alone(old) != _alone(new) and (not is_live or old in self.ran):
            raise _NeedsImports
        if len(nested) != len(others) or old.co_freevars != new.co_freevars:
            raise _NeedsImports
        yield old, new
        for one, other in zip(nested, others, strict=True):
            if one != other:
                yield from self._pairs(one, other, is_live=is_live)

    def _apply(self, changed: Sequence[tuple[CodeType, CodeType]]) -> None:
        self.changed_calls.install()
        for old, new in changed:
            for function in self.functions.get(old, ()):
                function.__code__ = new

    def _order(
        self, changed: Sequence[tuple[CodeType, CodeType]], recorded: Recorded
    ) -> Callable[[pytest.Item], tuple[bool, float]]:
        self.allowed, self.spare_s = recorded.cpu_s, TEST_CPU_S
        names = {self._name(old) for old, new in changed if _alone(old) != _alone(new)}

        def place(item: pytest.Item) -> tuple[bool, float]:
            calls = recorded.calls.get(item.nodeid, names)
            return names.isdisjoint(calls), recorded.cpu_s[item.nodeid]

        return place

    def _name(self, code: CodeType) -> str:
        file = code.co_filename.removeprefix(self.folder)
        return f"{file}:{code.co_firstlineno} {code.co_qualname}"

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.records:
            self.called = {}
            self._note_calls(self.note)
            signal.setitimer(signal.ITIMER_VIRTUAL, NOTED_S)
        super().pytest_runtest_logstart(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        super().pytest_runtest_logfinish(nodeid)
        if sys.gettrace():
            self._note_calls(None)
            called = filter(self._is_product, self.called.values())
            self.calls[nodeid] = [self._name(code) for code in called]

    def _note_calls(self, function: Callable[[FrameType, str, object], None] | None) -> None:
        sys.settrace(function)
        threading.settrace(function)


class _NeedsImports(Exception):
    """Raised if the mutant changes code that ran during the imports."""


def _nested(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _alone(code: CodeType) -> CodeType:
    """Returns the code of the function without the code of its inner functions and without line
    numbers.
    """
    others = tuple(one for one in code.co_consts if not isinstance(one, CodeType))
    return code.replace(co_consts=others, co_linetable=b"")
