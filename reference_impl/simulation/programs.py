"""Applications as programs: the behaviour of a client is a generator function, read from top to
bottom.

A program yields a request or a pause, and continues when the response has arrived or the pause is
over:

    answer = yield Call(to, request)     the response, or None if the call has timed out
    yield Pause(25)                      25 ms of virtual time have passed

For example:

    def at_least_once(app: Application) -> Program:
        while True:
            records = yield from reader.poll()
            process(records)
            yield from group.commit(reader.position)

The code between two yields takes no virtual time and cannot be interrupted. A `Pause` between two
statements makes a crash between them possible. The state of a program cannot be copied, but the
same seed produces the same run again.

Simplified: a program has only one request in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from model.histories import Isolation, MicroOperation, Operation, Outcome
from model.vocabulary import BrokerId
from reference_impl.node.step import Input, ResponseReceived, Send, SetTimer, TimerFired
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Request, Response
from reference_impl.simulation.clients import NS_PER_MS, TICK, ClientEffects, Observed

CALL_MS: Final = 300


class Call(NamedTuple):
    to: NodeId
    request: Request
    timeout_ms: int = CALL_MS


class Pause(NamedTuple):
    """A wait of `for_ms` of virtual time."""

    for_ms: int


Result = TypeVar("Result")
# A part of a program: it yields what it waits for, and returns a result.
Steps = Generator[Call | Pause, Response | None, Result]
Program = Steps[None]
ProgramFactory = Callable[["Application"], Program]


@dataclass(slots=True, kw_only=True)
class Application:
    """The identity and the clock of a program, and the recorder of its operations.

    An operation begins with `begin` and ends with `end`. The program has only one operation in
    progress.
    """

    client_id: NodeId
    process: int
    brokers: tuple[BrokerId, ...]
    now_ns: int = 0
    open: Operation | None = None
    observed: list[Observed] = field(default_factory=list[Observed])
    _newest: int = 0  # the highest process so far

    @property
    def now_ms(self) -> int:
        return self.now_ns // NS_PER_MS

    def become_new_process(self) -> None:
        """Makes the recorder use a new process id for the next operations of the program."""
        self._newest = max(self._newest, self.process) + 1
        self.process = self._newest

    def begin(
        self,
        f: str,
        *did: MicroOperation,
        transactional_id: str | None = None,
        group: str | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        """Begins an operation with the micro-operations `did`. The method `end` can add further
        ones or replace them.
        """
        assert self.open is None, f"{self.open} is open"
        self.now_ns += 1
        # If the application dies during the operation, this is its record: an unknown outcome.
        self.open = Operation(
            process=self.process,
            f=f,
            outcome="info",
            invoked_ns=self.now_ns,
            completed_ns=None,
            did=did,
            transactional_id=transactional_id,
            group=group,
            isolation=isolation,
        )

    def does(self, *did: MicroOperation) -> None:
        assert self.open is not None
        self.open = replace(self.open, did=self.open.did + did)

    def note_end_request(self) -> None:
        """Records the time at which the program requests to commit or abort its transaction."""
        assert self.open is not None
        self.now_ns += 1
        self.open = replace(self.open, end_asked_ns=self.now_ns)

    def end(
        self,
        outcome: Outcome,
        *did: MicroOperation,
        error: str | None = None,
        instead: bool = False,
    ) -> None:
        """Ends the operation in progress. Adds `did` to its micro-operations, or replaces them
        with `did` if `instead`.
        """
        assert self.open is not None
        self.now_ns += 1
        self.observed.append(
            Observed(
                replace(
                    self.open,
                    outcome=outcome,
                    completed_ns=self.now_ns,
                    did=did if instead else self.open.did + did,
                    error=error,
                )
            )
        )
        self.open = None

    def drop(self) -> None:
        self.open = None


@dataclass(slots=True, kw_only=True)
class ProgramClient:
    app: Application
    program: Program
    over: bool = False
    _awaits: int | None = None  # the correlation of the open call
    _until_ns: int = -1  # when the call times out or the pause ends; -1: not begun
    _correlation: int = 0

    @classmethod
    def starting(cls, app: Application, program_factory: ProgramFactory) -> ProgramClient:
        return cls(app=app, program=program_factory(app))

    @property
    def client_id(self) -> NodeId:
        return self.app.client_id

    def step(self, now_ns: int, event: Input) -> tuple[ProgramClient, ClientEffects]:
        match event:
            case ResponseReceived(correlation=correlation, response=response):
                return self._go_on(now_ns, response) if correlation == self._awaits else (self, ())
            case TimerFired():
                is_due = not self.over and now_ns >= self._until_ns
                return self._go_on(now_ns, None) if is_due else (self, ())
            case _:
                return self, ()

    def unfinished(self) -> tuple[Operation, ...]:
        return () if self.app.open is None else (self.app.open,)

    def close(self) -> None:
        """Kills the application. Its program never runs again."""
        self.over = True
        self.program.close()

    def _go_on(self, now_ns: int, response: Response | None) -> tuple[ProgramClient, ClientEffects]:
        self.app.now_ns = max(now_ns, self.app.now_ns)
        self._awaits = None
        try:
            waits_for = self.program.send(response) if self._until_ns >= 0 else next(self.program)
        except StopIteration:
            self.over = True
            return self, self._take_observed()
        match waits_for:
            case Call(to, request, timeout_ms):
                self._awaits = self._correlation
                self._correlation += 1
                requests: ClientEffects = (Send(to, self._awaits, request),)
            case Pause(timeout_ms):
                requests = ()
        self._until_ns = (self.app.now_ns // NS_PER_MS + timeout_ms) * NS_PER_MS
        wake = SetTimer(TICK, self._until_ns // NS_PER_MS)
        return self, (*self._take_observed(), *requests, wake)

    def _take_observed(self) -> ClientEffects:
        observed = tuple(self.app.observed)
        self.app.observed.clear()
        return observed
