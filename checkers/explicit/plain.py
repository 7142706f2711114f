"""Breadth-first search in plain Python. It needs no compilation, and is an oracle for the faster
engines.

If all properties are violated, the search still finishes its level before it stops. So its counts
are always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from checkers.explicit.actions import Program
from checkers.explicit.diagnose import diagnose_action, diagnose_claim, diagnose_init
from checkers.explicit.exploration import (
    Exploration,
    Step,
    Stop,
    Task,
    Trace,
    WhyStopped,
    WitnessResult,
    discoveries,
    until_stopped,
)
from checkers.explicit.instance import Packed
from checkers.explicit.running import RunningSearch
from model.language.interpreter import Interpreter, Undefined
from model.language.spec import Claim

PULSE = 2048  # states between two progress reports

Link = tuple[int, Packed] | None  # the transition that first reached a state, and its source


def search(task: Task) -> Exploration:
    return Search(task).run()


@dataclass
class Search(RunningSearch):
    generated: int = 0
    open: dict[str, Callable[[Packed], bool]] = field(default_factory=dict)
    open_steps: dict[str, Callable[[Packed], bool]] = field(default_factory=dict)
    violations: dict[str, tuple[Packed, Link]] = field(default_factory=dict)
    witnessed: dict[str, tuple[int, Packed | None]] = field(default_factory=dict)
    deadlocks: int = 0
    deadlock: Packed | None = None
    disabled: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.program = Program(self.at)
        judges = {c.name: self.program.predicate(c.formula) for c in self.task.claims}
        self.open = {c.name: judges[c.name] for c in self.task.claims if c.about == "states"}
        self.open_steps = {c.name: judges[c.name] for c in self.task.claims if c.about == "steps"}
        self.watched = [
            (w.name, self.program.predicate(w.formula)) for w in self.task.spec.witnesses
        ]
        self.witnessed = {name: (0, None) for name, _ in self.watched}
        self.taken = [0] * len(self.program.labels)
        if self.task.coverage:
            self.disabled = {a.name: [0] * len(a.guards) for a in self.task.spec.actions}
        self.parents: dict[Packed, Link] = {}

    # ---- the search

    def run(self) -> Exploration:
        return self._found(until_stopped(self._search))

    def _search(self) -> None:
        self.parents = dict.fromkeys(self._initial())
        fresh = list(self.parents)
        self.generated = len(fresh)
        while fresh:
            self.depth += 1
            self._judge(fresh)
            self._stop_if_decided()
            frontier, fresh = fresh, []
            for start in range(0, len(frontier), PULSE):
                queue = len(frontier) - start + len(fresh)
                self.report(distinct=len(self.parents), generated=self.generated, queue=queue)
                self._expand(frontier[start : start + PULSE], fresh)
            self._stop_if_decided()

    def _initial(self) -> list[Packed]:
        try:
            return self.program.initial()
        except Undefined as fault:
            raise self.undefined(diagnose_init(self.at), ()) from fault

    def _expand(self, frontier: Sequence[Packed], fresh: list[Packed]) -> None:
        parents, taken, successors = self.parents, self.taken, self.program.successors
        for state in frontier:
            out: list[tuple[int, Packed]] = []
            try:
                successors(state, out.append)
            except Undefined as fault:
                trace = self._trace(state, parents[state])
                raise self.undefined(diagnose_action(self.at, state), trace) from fault
            self.generated += len(out)
            if not out:
                self.deadlocks += 1
                self.deadlock = self.deadlock or state
            if self.task.coverage:
                self._count_disabled(state)
            if self.open_steps:
                self._judge_steps(state, out)
            for label, after in out:
                taken[label] += 1
                if after not in parents:
                    parents[after] = (label, state)
                    fresh.append(after)

    def _count_disabled(self, state: Packed) -> None:
        interpreter, read = Interpreter(self.at.ranges), self.at.unpack(state)
        for action in self.task.spec.actions:
            counts = self.disabled[action.name]
            for values in interpreter.calls(action):
                false = interpreter.why_disabled(action, read, values)
                if false is not None:
                    counts[next(k for k, g in enumerate(action.guards) if g is false)] += 1

    def _judge(self, states: Sequence[Packed]) -> None:
        claims = (*self.task.claims, *self.task.spec.witnesses)
        for state in states:
            try:
                broken = [name for name, holds in self.open.items() if not holds(state)]
                for name, holds in self.watched:
                    if holds(state):
                        times, first = self.witnessed[name]
                        self.witnessed[name] = (times + 1, first or state)
            except Undefined as fault:
                trace = self._trace(state, self.parents[state])
                raise self.undefined(diagnose_claim(self.at, claims, state), trace) from fault
            for name in broken:
                self.violations[name] = state, self.parents[state]
                del self.open[name]

    def _judge_steps(self, state: Packed, steps: Sequence[tuple[int, Packed]]) -> None:
        for label, after in steps:
            try:
                broken = [
                    name
                    for name, holds in self.open_steps.items()
                    if after != state and not holds(state + after)
                ]
            except Undefined as fault:
                trace = self._trace(state, self.parents[state])
                undefined = diagnose_claim(self.at, self.task.claims, state, after)
                raise self.undefined(undefined, trace) from fault
            for name in broken:
                self.violations[name] = after, (label, state)
                del self.open_steps[name]

    def _stop_if_decided(self) -> None:
        if self.task.claims and not self.open and not self.open_steps:
            raise Stop("all decided")

    # ---- what was found

    def _found(self, why: WhyStopped) -> Exploration:
        taken = {action.name: 0 for action in self.task.spec.actions}
        for (action, _), times in zip(self.program.labels, self.taken, strict=True):
            taken[action.name] += times
        first = self.deadlock
        traces = {name: self._trace(*found) for name, found in self.violations.items()}
        return Exploration(
            distinct=len(self.parents),
            generated=self.generated,
            depth=self.depth,
            seconds=self.seconds,
            why_stopped=why,
            discoveries=discoveries(self.task.claims, why, traces),
            witnesses={w.name: self._witness_result(w) for w in self.task.spec.witnesses},
            taken=taken,
            ranges=self.at.ranges,
            ill_defined=self.ill_defined,
            deadlocks=self.deadlocks,
            deadlock=self._trace(first, self.parents[first]) if first else (),
            disabled={name: tuple(counts) for name, counts in self.disabled.items()},
        )

    def _witness_result(self, witness: Claim) -> WitnessResult:
        times, first = self.witnessed[witness.name]
        return WitnessResult(
            claim=witness,
            states=times,
            trace=() if first is None else self._trace(first, self.parents[first]),
        )

    def _trace(self, state: Packed, link: Link) -> Trace:
        steps: list[Step] = []
        while link is not None:
            action, values = self.program.labels[link[0]]
            steps.append(Step(action=action.name, values=values, state=self.at.unpack(state)))
            state = link[1]
            link = self.parents[state]
        steps.append(Step(action="init", values=(), state=self.at.unpack(state)))
        return tuple(reversed(steps))
