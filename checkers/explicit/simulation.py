"""Random walks through the states of a spec that is too large to explore. The walks find violations
but prove nothing.

In each state, the walk first chooses an enabled action. After that, it chooses values of the
parameters of this action. So an action with many parameter values is not taken more often than an
action with few values. The weight of an action decreases each time the walk takes the action. Equal
seeds give equal walks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from random import Random

from checkers.explicit.actions import Program
from checkers.explicit.diagnose import diagnose_action, diagnose_claim
from checkers.explicit.exploration import (
    Discovery,
    Exploration,
    IllDefined,
    Step,
    Task,
    Trace,
    WitnessResult,
)
from checkers.explicit.instance import Instance, Packed
from model.language.interpreter import Undefined
from model.language.values import Writer

LENGTH = 200  # steps of a walk
Weights = Mapping[str, float]  # a pattern of action names -> their relative weight


def simulate(
    task: Task, *, seed: int = 0, length: int = LENGTH, weights: Weights | None = None
) -> Exploration:
    """Takes random walks until every property is violated, or the budget is spent, or a term is
    undefined.

    `length` is the number of steps after which a walk ends. The `states` of the budget limit the
    number of steps of all walks together. `weights` maps patterns of action names to relative
    weights.
    """
    return _Simulation(task, seed, length, weights or {}).run()


class _Simulation:
    def __init__(self, task: Task, seed: int, length: int, weights: Weights) -> None:
        self.task, self.length = task, length
        self.started = time.monotonic()
        self.at = Instance.of(task.spec, task.scope)
        self.program = Program(self.at)
        self.random = Random(seed)
        self.actions = [action.name for action, _ in self.program.labels]
        self.weight = {
            a.name: next((w for p, w in weights.items() if fnmatchcase(a.name, p)), 1.0)
            for a in task.spec.actions
        }
        judges = {c.name: self.program.predicate(c.formula) for c in task.claims}
        self.open = {c.name: judges[c.name] for c in task.claims if c.about == "states"}
        self.open_steps = {c.name: judges[c.name] for c in task.claims if c.about == "steps"}
        self.watched = {w.name: self.program.predicate(w.formula) for w in task.spec.witnesses}
        self.seen: set[Packed] = set()
        self.taken: Counter[str] = Counter()
        self.broken: dict[str, Trace] = {}
        self.witnessed: dict[str, tuple[int, Trace]] = {}
        self.ill_defined: IllDefined | None = None
        self.steps = self.depth = self.walks = 0

    def run(self) -> Exploration:
        initial = self.program.initial()
        try:
            while self._goes_on():
                self.walks += 1
                self._walk(self.random.choice(initial))
        except KeyboardInterrupt:
            pass
        why = f"{self.walks:,} random walks of up to {self.length} steps do not reach every state"
        return Exploration(
            distinct=len(self.seen),
            generated=self.steps,
            depth=self.depth,
            seconds=time.monotonic() - self.started,
            why_stopped="ill-defined" if self.ill_defined else "states",
            discoveries={
                c.name: Discovery(claim=c, verdict="violated", trace=self.broken[c.name])
                if c.name in self.broken
                else Discovery(claim=c, verdict="undecided", reason=why)
                for c in self.task.claims
            },
            witnesses={
                w.name: WitnessResult(claim=w, states=times, trace=trace)
                for w in self.task.spec.witnesses
                for times, trace in [self.witnessed.get(w.name, (0, ()))]
            },
            taken={a.name: self.taken[a.name] for a in self.task.spec.actions},
            ranges=self.at.ranges,
            ill_defined=self.ill_defined,
            engine="simulate",
        )

    def _goes_on(self) -> bool:
        states, seconds = self.task.budget.states, self.task.budget.seconds
        if self.ill_defined is not None or not (self.open or self.open_steps):
            return False
        if seconds is not None and time.monotonic() - self.started > seconds:
            return False
        return states is None or self.steps < states

    def _walk(self, state: Packed) -> None:
        way: list[tuple[int, Packed]] = [(-1, state)]  # transitions and the states after them
        here: Counter[str] = Counter()
        try:
            self._judge(way)
            while len(way) <= self.length and self._goes_on():
                out: list[tuple[int, Packed]] = []
                self.program.successors(state, out.append)
                moves = [(label, after) for label, after in out if after != state]
                if not moves:
                    return
                label, after = self._chosen(moves, here)
                here[self.actions[label]] += 1
                self.taken[self.actions[label]] += 1
                self.steps += 1
                way.append((label, after))
                self._judge_step(way)
                state = after
                self._judge(way)
        except Undefined as fault:
            claims = (*self.task.claims, *self.task.spec.witnesses)
            term = (
                diagnose_claim(self.at, claims, state) or diagnose_action(self.at, state) or fault
            )
            writer = Writer(self.task.spec, self.at.ranges)
            self.ill_defined = IllDefined.of(term, writer, self._trace(way))

    def _chosen(
        self, moves: Sequence[tuple[int, Packed]], here: Counter[str]
    ) -> tuple[int, Packed]:
        by_action: dict[str, list[tuple[int, Packed]]] = {}
        for move in moves:
            by_action.setdefault(self.actions[move[0]], []).append(move)
        names = list(by_action)
        # the more often this walk has taken an action, the less weight it has
        ends = list(accumulate(self.weight[n] / (1 + here[n]) for n in names))
        name = self.random.choices(names, cum_weights=ends)[0]
        return self.random.choice(by_action[name])

    # ---- what the walks reach

    def _judge(self, way: Sequence[tuple[int, Packed]]) -> None:
        _, state = way[-1]
        self.depth = max(self.depth, len(way))
        self.seen.add(state)
        for name in [n for n, holds in self.open.items() if not holds(state)]:
            self.broken[name] = self._trace(_without_loops(way))
            del self.open[name]
        for name, holds in self.watched.items():
            if holds(state):
                times, trace = self.witnessed.get(name, (0, ()))
                self.witnessed[name] = times + 1, trace or self._trace(_without_loops(way))

    def _judge_step(self, way: Sequence[tuple[int, Packed]]) -> None:
        (_, before), (_, after) = way[-2:]
        for name in [n for n, holds in self.open_steps.items() if not holds(before + after)]:
            self.broken[name] = self._trace([*_without_loops(way[:-1]), way[-1]])
            del self.open_steps[name]

    def _trace(self, way: Sequence[tuple[int, Packed]]) -> Trace:
        steps: list[Step] = []
        for label, state in way:
            unpacked = self.at.unpack(state)
            if label < 0:
                steps.append(Step(action="init", values=(), state=unpacked))
                continue
            action, values = self.program.labels[label]
            steps.append(Step(action=action.name, values=values, state=unpacked))
        return tuple(steps)


def _without_loops(way: Sequence[tuple[int, Packed]]) -> list[tuple[int, Packed]]:
    kept: list[tuple[int, Packed]] = []
    place: dict[Packed, int] = {}
    for label, state in way:
        if state in place:
            for _, dropped in kept[place[state] + 1 :]:
                del place[dropped]
            del kept[place[state] + 1 :]
        else:
            place[state] = len(kept)
            kept.append((label, state))
    return kept
