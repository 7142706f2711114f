"""What an exploration found: counts as TLC counts, a verdict on each property, shortest traces.

*distinct* counts states, *generated* counts transitions and initial states, *depth* counts levels:
the initial states are level 1, so a counterexample of n steps is found at depth n + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from checkers.verdicts import Verdict
from model.language.interpreter import State
from model.language.scope import Ranges, Scope
from model.language.spec import Claim, Liveness, Spec

WhyStopped = Literal["exhausted", "all decided", "states", "seconds", "interrupted", "ill-defined"]

STOPPED: Mapping[WhyStopped, str] = {
    "exhausted": "every reachable state was seen",
    "all decided": "every property was violated",
    "states": "the budget of states is spent",
    "seconds": "the budget of seconds is spent",
    "interrupted": "interrupted",
    "ill-defined": "the spec is ill-defined",
}


class Stop(Exception):
    """The search ends here."""

    def __init__(self, why: WhyStopped) -> None:
        self.why: WhyStopped = why


def until_stopped(search: Callable[[], None]) -> WhyStopped:
    """Runs the search, and says why it ended."""
    try:
        search()
    except Stop as stop:
        return stop.why
    except KeyboardInterrupt:
        return "interrupted"
    return "exhausted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much an exploration may spend; None is no limit."""

    states: int | None = 10_000_000
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an exploration is; `queue` counts states seen and not yet left."""

    distinct: int
    generated: int
    depth: int
    queue: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What an engine is asked: what to explore, what to decide, what it may spend on it."""

    spec: Spec
    claims: Sequence[Claim]
    scope: Scope | None = None  # None: the spec's own
    budget: Budget = Budget()
    progress: Callable[[Progress], None] | None = None
    fingerprints: bool = False  # 64 bits in place of a state, where the engine can
    memory: int | None = None  # bytes, beyond which states go to disk, where the engine can
    threads: int = 1  # where the engine has them; which of several shortest traces is told varies
    coverage: bool = False  # count what disables actions, where the engine can
    symmetry: bool = False  # one state for all that differ by an exchange, where the engine can

    def pulse(self, now: Progress) -> None:
        """Tells how far the search has come; raises Stop where its budget is spent."""
        if self.progress is not None:
            self.progress(now)
        if self.budget.states is not None and now.distinct > self.budget.states:
            raise Stop("states")
        if self.budget.seconds is not None and now.seconds > self.budget.seconds:
            raise Stop("seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A state of a trace, and the action that led to it; the first one's action is `init`."""

    action: str
    values: tuple[int, ...]
    state: State


Trace = tuple[Step, ...]  # step 0 is the initial state


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The verdict on one property; a violation carries a shortest trace, indecision its reason.

    The trace of a violated liveness property goes on for ever: its last state is that of step
    `loop`, from where it repeats; where `loop` is the last step, nothing happens any more.
    """

    claim: Claim | Liveness
    verdict: Verdict
    trace: Trace = ()
    reason: str = ""
    loop: int | None = None
    values: tuple[int, ...] = ()  # of the parameters of a liveness property

    @property
    def steps(self) -> int:
        """How many transitions the trace has."""
        return max(len(self.trace) - 1, 0)


def discoveries(
    claims: Sequence[Claim], why: WhyStopped, traces: Mapping[str, Trace]
) -> dict[str, Discovery]:
    """The verdict on each claim, where these have a trace to a violation and that ended it."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessResult:
    """A witness: in how many states it was true, and the shortest trace to the first of them."""

    claim: Claim
    states: int
    trace: Trace = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IllDefined:
    """A term without a value was reached: a fault of the spec, in this action, line, conjunct."""

    where: str
    what: str
    trace: Trace

    def __str__(self) -> str:
        return f"{self.where}\n  {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """Everything that one exploration found.

    `disabled`, where coverage was asked for, says of each action how often each conjunct of its
    guard was the first that is false, over all states and parameters.
    """

    distinct: int
    generated: int
    depth: int
    seconds: float
    why_stopped: WhyStopped
    discoveries: Mapping[str, Discovery]
    witnesses: Mapping[str, WitnessResult]
    taken: Mapping[str, int]  # action -> transitions
    ranges: Ranges  # what was explored: the elements of every sort
    ill_defined: IllDefined | None = None
    engine: str = "python"
    deadlocks: int = 0  # states that no transition leaves
    deadlock: Trace = ()  # to the first of them
    disabled: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # why this engine and no faster one
    symmetric: tuple[str, ...] = ()  # sorts: states that differ by an exchange count as one
    collision: float = 0.0  # a bound on the chance that two states were taken for one

    @property
    def exhausted(self) -> bool:
        """Whether every reachable state was seen."""
        return self.why_stopped == "exhausted"

    @property
    def violated(self) -> tuple[str, ...]:
        """The names of the violated properties, the shortest trace first."""
        found = [d for d in self.discoveries.values() if d.verdict == "violated"]
        return tuple(d.claim.name for d in sorted(found, key=lambda d: d.steps))

    @property
    def never_taken(self) -> tuple[str, ...]:
        """Actions that no transition took: a guard may be too strong, or the scope too small."""
        return tuple(name for name, times in self.taken.items() if not times)
