"""The input and the result of an exploration: the task, counts, verdicts and shortest traces.

The counts are defined as in TLC. *generated* is the number of transitions and initial states.
*depth* is the number of levels: the initial states are level 1, so a counterexample of n steps ends
at depth n + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from checkers.verdicts import Verdict
from model.language.interpreter import State, Undefined
from model.language.scope import Ranges, Scope
from model.language.spec import Claim, Liveness, Spec
from model.language.values import Writer

if TYPE_CHECKING:  # NumPy starts more slowly than a small search runs
    from checkers.explicit.checkpoints import Checkpoints

EngineName = Literal["compiled", "numpy", "python"]  # the fastest first

WhyStopped = Literal["exhausted", "all decided", "states", "seconds", "interrupted", "ill-defined"]

STOPPED: Mapping[WhyStopped, str] = {
    "exhausted": "every reachable state was explored",
    "all decided": "every property was violated",
    "states": "the budget of states is spent",
    "seconds": "the budget of seconds is spent",
    "interrupted": "interrupted",
    "ill-defined": "the spec is ill-defined",
}


class Declined(Exception):
    """Raised by an engine if it does not support the search. The message is the reason."""


class TooLarge(Exception):
    """Raised if a limit is reached before every state was explored. Liveness properties are
    undecided in this case.
    """


class Stop(Exception):
    def __init__(self, why: WhyStopped) -> None:
        self.why: WhyStopped = why


def until_stopped(search: Callable[[], None]) -> WhyStopped:
    """Runs the search, and returns why it ended: `exhausted`, `interrupted` (by Ctrl-C), or the
    reason in the exception Stop.
    """
    try:
        search()
    except Stop as stop:
        return stop.why
    except KeyboardInterrupt:
        return "interrupted"
    return "exhausted"


MANY = 10_000_000  # states


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of an exploration. A limit of None means that there is no limit."""

    states: int | None = MANY
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of an exploration. `queue` is the number of states that are not yet expanded.

    The liveness check runs after the search. `liveness` names its current activity, and is empty
    during the search.
    """

    distinct: int
    generated: int
    depth: int
    queue: int
    seconds: float
    liveness: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    spec: Spec
    claims: Sequence[Claim]
    lively: Sequence[Liveness] = ()  # decided in the same search, if the engine can
    scope: Scope | None = None  # None: the spec's own
    budget: Budget = Budget()
    progress: Callable[[Progress], None] | None = None
    fingerprints: bool = False  # store 64 bits instead of a state, if the engine can
    memory: int | None = None  # bytes; further states go to disk, if the engine can
    threads: int = 1  # if the engine has them; they do not change the result
    coverage: bool = False  # count the conjuncts that disable actions, if the engine can
    symmetry: bool = False  # explore one state of each symmetry class, if the engine can
    checkpoints: Checkpoints | None = None  # only the compiled engine writes and resumes them

    def pulse(self, now: Progress) -> None:
        """Reports the progress of the search. Raises Stop if the budget is spent."""
        if self.progress is not None:
            self.progress(now)
        if self.budget.states is not None and now.distinct > self.budget.states:
            raise Stop("states")
        if self.budget.seconds is not None and now.seconds > self.budget.seconds:
            raise Stop("seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A state of a trace, and the action that led to this state. The action of the first state
    is `init`.
    """

    action: str
    values: tuple[int, ...]
    state: State


Trace = tuple[Step, ...]  # step 0 is the initial state


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The verdict on one property.

    If the property is a violated liveness property, the trace is a lasso: the steps after step
    `loop` repeat forever. If there are no such steps, the last state repeats forever.

    A lasso is not always a shortest one. The trace of any other violation is a shortest trace,
    unless a random walk found it.
    """

    claim: Claim | Liveness
    verdict: Verdict
    trace: Trace = ()
    reason: str = ""
    loop: int | None = None
    values: tuple[int, ...] = ()  # of the parameters of a liveness property

    @property
    def steps(self) -> int:
        return max(len(self.trace) - 1, 0)


def discoveries(
    claims: Sequence[Claim], why: WhyStopped, traces: Mapping[str, Trace]
) -> dict[str, Discovery]:
    """Returns the verdict on each claim, by the name of the claim.

    A claim with a trace in `traces` is violated. A claim without a trace holds if `why` is
    `exhausted`, and is undecided otherwise.
    """
    found: dict[str, Discovery] = {}
    for claim in claims:
        if claim.name in traces:
            made = Discovery(claim=claim, verdict="violated", trace=traces[claim.name])
        elif why == "exhausted":
            made = Discovery(claim=claim, verdict="holds")
        else:
            made = Discovery(claim=claim, verdict="undecided", reason=STOPPED[why])
        found[claim.name] = made
    return found


def undecided(claims: Sequence[Liveness], reason: str) -> dict[str, Discovery]:
    return {c.name: Discovery(claim=c, verdict="undecided", reason=reason) for c in claims}


def not_every_state(claims: Sequence[Liveness], why: object) -> dict[str, Discovery]:
    return undecided(claims, f"liveness needs every state: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessResult:
    """The number of states that satisfy a witness, and a trace to one of these states. The trace is
    a shortest one, unless a random walk found it.

    A witness is a formula of the spec that should be true in some reachable state.
    """

    claim: Claim
    states: int
    trace: Trace = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IllDefined:
    """A term whose value is outside its type in a state, with a trace to this state. Such a term is
    an error of the spec.
    """

    where: str
    what: str
    trace: Trace

    @classmethod
    def of(cls, fault: Undefined, writer: Writer, trace: Trace) -> IllDefined:
        call = f"{writer.call(*fault.call)}, " if fault.call else ""
        return cls(where=f"{call}{fault.where}", what=fault.what, trace=trace)

    def __str__(self) -> str:
        return f"{self.where}\n  {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    distinct: int
    generated: int
    depth: int
    seconds: float
    why_stopped: WhyStopped
    discoveries: Mapping[str, Discovery]
    witnesses: Mapping[str, WitnessResult]
    taken: Mapping[str, int]  # action -> transitions
    ranges: Ranges  # the explored scope: the elements of every sort
    ill_defined: IllDefined | None = None
    engine: str = "python"
    deadlocks: int = 0  # states without a transition
    deadlock: Trace = ()  # to the first of them
    disabled: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # why faster engines declined
    symmetric: tuple[str, ...] = ()  # sorts whose symmetry was used
    collision: float = 0.0  # upper bound on the probability that two states had one fingerprint

    @property
    def exhausted(self) -> bool:
        return self.why_stopped == "exhausted"

    @property
    def violated(self) -> tuple[str, ...]:
        """The names of the violated properties, ordered by the lengths of their traces."""
        found = [d for d in self.discoveries.values() if d.verdict == "violated"]
        return tuple(d.claim.name for d in sorted(found, key=lambda d: d.steps))

    @property
    def never_taken(self) -> tuple[str, ...]:
        return tuple(name for name, times in self.taken.items() if not times)
