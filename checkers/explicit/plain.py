"""Breadth-first search in plain Python: no start-up, and the oracle of faster engines.

What the actions do is one generated function. A term without a value is blamed by the reference
interpreter, which is slow and knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from checkers.explicit.actions import Program
from checkers.explicit.exploration import (
    STOPPED,
    Discovery,
    Exploration,
    IllDefined,
    Progress,
    Sighting,
    Step,
    Task,
    Trace,
    WhyStopped,
)
from checkers.explicit.instance import Instance, Packed
from model.language.meaning import Meaning, Undefined, joined
from model.language.spec import Claim

PULSE = 2048  # states between two looks at the clock

Link = tuple[int, Packed] | None  # the transition that led to a state, and where it came from


def search(task: Task) -> Exploration:
    """Explores as the task says; declines nothing."""
    return Search(task).run()


class _Stop(Exception):
    """The search ends here."""

    def __init__(self, why: WhyStopped) -> None:
        self.why: WhyStopped = why


@dataclass
class Search:
    """One exploration under way."""

    task: Task
    generated: int = 0
    depth: int = 0
    open: dict[str, Callable[[Packed], bool]] = field(default_factory=dict)
    open_steps: dict[str, Callable[[Packed], bool]] = field(default_factory=dict)
    violations: dict[str, tuple[Packed, Link]] = field(default_factory=dict)
    sighted: dict[str, tuple[int, Packed | None]] = field(default_factory=dict)
    ill_defined: IllDefined | None = None

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.at = Instance.of(self.task.spec, self.task.scope)
        self.program = Program(self.at)
        judges = {c.name: self.program.predicate(c.formula) for c in self.task.claims}
        self.open = {c.name: judges[c.name] for c in self.task.claims if c.about == "states"}
        self.open_steps = {c.name: judges[c.name] for c in self.task.claims if c.about == "steps"}
        self.watched = [
            (w.name, self.program.predicate(w.formula)) for w in self.task.spec.witnesses
        ]
        self.sighted = {name: (0, None) for name, _ in self.watched}
        self.taken = [0] * len(self.program.labels)
        self.parents: dict[Packed, Link] = {}

    # ---- the search

    def run(self) -> Exploration:
        why: WhyStopped = "exhausted"
        try:
            self._search()
        except _Stop as stop:
            why = stop.why
        except KeyboardInterrupt:
            why = "interrupted"
        return self._found(why)

    def _search(self) -> None:
        self.parents = dict.fromkeys(self._initial())
        fresh = list(self.parents)
        self.generated = len(fresh)
        while fresh:
            self.depth += 1
            self._judge(fresh)
            frontier, fresh = fresh, []
            for start in range(0, len(frontier), PULSE):
                self._pulse(len(frontier) - start + len(fresh))
                self._expand(frontier[start : start + PULSE], fresh)

    def _initial(self) -> list[Packed]:
        try:
            return self.program.initial()
        except Undefined:
            meaning = Meaning(self.at.ranges)
            try:
                meaning.initial(self.task.spec)
            except Undefined as fault:
                self.ill_defined = IllDefined(where=fault.where, what=fault.what, trace=())
                raise _Stop("ill-defined") from fault
            raise

    def _expand(self, frontier: Sequence[Packed], fresh: list[Packed]) -> None:
        parents, taken, successors = self.parents, self.taken, self.program.successors
        for state in frontier:
            out: list[tuple[int, Packed]] = []
            try:
                successors(state, out.append)
            except Undefined:
                self._blame_action(state)
                raise
            self.generated += len(out)
            if self.open_steps:
                self._judge_steps(state, out)
            for label, after in out:
                taken[label] += 1
                if after not in parents:
                    parents[after] = (label, state)
                    fresh.append(after)

    def _judge(self, states: Sequence[Packed]) -> None:
        """Every open property in every new state; a violated one is open no more."""
        watched = self.watched
        for state in states:
            try:
                broken = [name for name, holds in self.open.items() if not holds(state)]
                for name, holds in watched:
                    if holds(state):
                        times, first = self.sighted[name]
                        self.sighted[name] = (times + 1, first or state)
            except Undefined:
                self._blame_claim(state)
                raise
            for name in broken:
                self.violations[name] = state, self.parents[state]
                del self.open[name]
            if broken and not self.open and not self.open_steps:
                raise _Stop("all decided")

    def _judge_steps(self, state: Packed, steps: Sequence[tuple[int, Packed]]) -> None:
        """Every open action property in every step that changes the state."""
        for label, after in steps:
            try:
                broken = [
                    name
                    for name, holds in self.open_steps.items()
                    if after != state and not holds(state + after)
                ]
            except Undefined:
                self._blame_claim(state, after)
                raise
            for name in broken:
                self.violations[name] = after, (label, state)
                del self.open_steps[name]
            if broken and not self.open and not self.open_steps:
                raise _Stop("all decided")

    def _pulse(self, queue: int) -> None:
        seconds = time.monotonic() - self.started
        if self.task.progress is not None:
            self.task.progress(
                Progress(
                    distinct=len(self.parents),
                    generated=self.generated,
                    depth=self.depth,
                    queue=queue,
                    seconds=seconds,
                )
            )
        if self.task.budget.states is not None and len(self.parents) > self.task.budget.states:
            raise _Stop("states")
        if self.task.budget.seconds is not None and seconds > self.task.budget.seconds:
            raise _Stop("seconds")

    # ---- who is to blame for an undefined term: the interpreter, which is slow, knows

    def _blame_action(self, state: Packed) -> None:
        """Ends the search with the action, line and conjunct that is undefined in the state."""
        try:
            list(Meaning(self.at.ranges).steps(self.task.spec, self.at.unpack(state)))
        except Undefined as fault:
            trace = self._trace(state, self.parents[state])
            self.ill_defined = IllDefined(where=fault.where, what=fault.what, trace=trace)
            raise _Stop("ill-defined") from fault

    def _blame_claim(self, state: Packed, after: Packed | None = None) -> None:
        """Ends the search with the claim that is undefined in the state, or in the step from it."""
        meaning = Meaning(self.at.ranges)
        about = "states" if after is None else "steps"
        read = self.at.unpack(state)
        if after is not None:
            read = joined(read, self.at.unpack(after))
        for claim in (*self.task.claims, *self.task.spec.witnesses):
            try:
                if claim.about == about:
                    meaning.holds(claim.formula, read)
            except Undefined as fault:
                trace = self._trace(state, self.parents[state])
                self.ill_defined = IllDefined(where=claim.name, what=fault.what, trace=trace)
                raise _Stop("ill-defined") from fault

    # ---- what was found

    def _found(self, why: WhyStopped) -> Exploration:
        taken = {action.name: 0 for action in self.task.spec.actions}
        for (action, _), times in zip(self.program.labels, self.taken, strict=True):
            taken[action.name] += times
        return Exploration(
            distinct=len(self.parents),
            generated=self.generated,
            depth=self.depth,
            seconds=time.monotonic() - self.started,
            why_stopped=why,
            discoveries={claim.name: self._discovery(claim, why) for claim in self.task.claims},
            witnesses={w.name: self._sighting(w) for w in self.task.spec.witnesses},
            taken=taken,
            ranges=self.at.ranges,
            ill_defined=self.ill_defined,
        )

    def _discovery(self, claim: Claim, why: WhyStopped) -> Discovery:
        if claim.name in self.violations:
            trace = self._trace(*self.violations[claim.name])
            return Discovery(claim=claim, verdict="violated", trace=trace)
        if why == "exhausted":
            return Discovery(claim=claim, verdict="holds")
        return Discovery(claim=claim, verdict="undecided", reason=STOPPED[why])

    def _sighting(self, witness: Claim) -> Sighting:
        times, first = self.sighted[witness.name]
        return Sighting(
            claim=witness,
            states=times,
            trace=() if first is None else self._trace(first, self.parents[first]),
        )

    def _trace(self, state: Packed, link: Link) -> Trace:
        """A shortest way to the state by that last transition, the initial state first."""
        steps: list[Step] = []
        while link is not None:
            action, values = self.program.labels[link[0]]
            steps.append(Step(action=action.name, values=values, state=self.at.unpack(state)))
            state = link[1]
            link = self.parents[state]
        steps.append(Step(action="init", values=(), state=self.at.unpack(state)))
        return tuple(reversed(steps))
