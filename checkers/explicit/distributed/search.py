"""Breadth-first search on all machines of a cluster, in rounds. Each round expands one level of
states.

The driver receives only counts and the first violations. A trace is found backwards, level by
level. For a state of the trace, the tasks search the previous level for a predecessor of this
state.

Simplified: Budgets are checked only between two levels. Violations have traces, but witnesses and
deadlocks have none.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from checkers.explicit.compiled.keyed_steps import KeyedSteps
from checkers.explicit.compiled.library import Library, Sizes
from checkers.explicit.diagnose import diagnose_init
from checkers.explicit.distributed.tasks import (
    Kernel,
    Report,
    collect,
    expand,
    partition_of,
    sources,
)
from checkers.explicit.exploration import (
    Exploration,
    Stop,
    Task,
    Trace,
    WhyStopped,
    WitnessResult,
    discoveries,
    until_stopped,
)
from checkers.explicit.running import RunningSearch
from checkers.rounds import Rounds

Place = tuple[int, bytes]  # a level, counted from 0, and a state in it


def search(task: Task, rounds: Rounds) -> Exploration:
    """Explores the states of a spec on a cluster. Raises Declined if the driver has no C
    compiler.
    """
    return Search(task, rounds=rounds).run()


@dataclass
class Search(RunningSearch):
    rounds: Rounds = field(kw_only=True)
    distinct: int = 0
    generated: int = 0
    deadlocks: int = 0
    level: int = 0  # states of the newest level
    taken: Counter[int] = field(default_factory=Counter[int])
    seen: Counter[int] = field(default_factory=Counter[int])
    broken: dict[int, tuple[Place, bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.library = Library(self.at)
        self.file = self.rounds.on_workers(self.library.file)
        self.steps = KeyedSteps(self.at, lambda state: self.library.key_of(self.at.pack(state)))
        names = {claim.name for claim in self.task.claims}
        self.chosen = {k for k, claim in enumerate(self.library.claims) if claim.name in names}

    def run(self) -> Exploration:
        return self._found(until_stopped(self._search))

    # ---- the search

    def _search(self) -> None:
        fault = diagnose_init(self.at)
        if fault is not None:
            raise self.undefined(fault, ())
        states = [self.library.stored(self.at.pack(state)) for state in self.steps.initial()]
        self.generated = len(states)
        hashes = np.array([self.library.c.search_fingerprint(s) for s in states], np.uint64)
        targets = partition_of(hashes, self.rounds.partitions).tolist()
        sent = list(zip(targets, states, strict=True))
        self._add(self.rounds.begin(sent, partial(collect, self._kernel())))
        while self.level:
            self.report(distinct=self.distinct, generated=self.generated, queue=self.level)
            title = f"level {self.depth} with {self.level:,} states"
            kernel = self._kernel()
            self._add(self.rounds.advance(title, partial(expand, kernel), partial(collect, kernel)))

    def _kernel(self) -> Kernel:
        claims = range(len(self.library.claims))
        return Kernel(
            file=self.file,
            sizes=Sizes.of(self.library.source),
            open=tuple(k in self.chosen and k not in self.broken for k in claims),
            partitions=self.rounds.partitions,
        )

    def _add(self, pickled: Iterable[bytes]) -> None:
        reports: list[Report] = [pickle.loads(one) for one in pickled]
        for report in reports:
            self.generated += report.generated
            self.deadlocks += report.stuck
            self.taken.update(dict(enumerate(report.taken)))
        self._judge(report for report in reports if report.expanded)
        self.level = sum(report.states for report in reports)
        self.distinct += self.level
        self._stop_if_decided()
        self.depth += self.level > 0
        for report in reports:
            self.seen.update(dict(enumerate(report.seen)))
        self._judge(report for report in reports if not report.expanded)
        self._stop_if_decided()

    def _judge(self, reports: Iterable[Report]) -> None:
        for report in reports:
            for claim, (state, after) in report.broken.items():
                self.broken.setdefault(claim, ((self.depth - 1, state), after))
            if report.undefined is not None:
                place = self.depth - 1, report.undefined
                trace = self._traces([place])[place]
                raise self.undefined(self.steps.fault(self.task.claims, trace[-1].state), trace)

    def _stop_if_decided(self) -> None:
        if self.chosen and len(self.broken) == len(self.chosen):
            raise Stop("all decided")

    # ---- what was found

    def _found(self, why: WhyStopped) -> Exploration:
        spec = self.task.spec
        return Exploration(
            distinct=self.distinct,
            generated=self.generated,
            depth=self.depth,
            seconds=self.seconds,
            why_stopped=why,
            discoveries=discoveries(self.task.claims, why, self._violations()),
            witnesses={
                w.name: WitnessResult(claim=w, states=self.seen[k])
                for k, w in enumerate(spec.witnesses)
            },
            taken={action.name: self.taken[k] for k, action in enumerate(spec.actions)},
            ranges=self.at.ranges,
            ill_defined=self.ill_defined,
            engine="distributed",
            deadlocks=self.deadlocks,
        )

    def _violations(self) -> dict[str, Trace]:
        traces = self._traces(place for place, _ in self.broken.values())
        out: dict[str, Trace] = {}
        for number, (place, after) in self.broken.items():
            claim, trace = self.library.claims[number], traces[place]
            if claim.about == "steps":
                trace = (*trace, self.steps.step_to(trace[-1].state, after))
            out[claim.name] = trace
        return out

    def _traces(self, places: Iterable[Place]) -> Mapping[Place, Trace]:
        wanted = set(places)
        reached = set(wanted)
        before: dict[Place, Place] = {}
        for level in range(max((level for level, _ in wanted), default=0), 0, -1):
            states = frozenset(state for at, state in reached if at == level)
            title = f"the trace at level {level}"
            look = partial(sources, replace(self._kernel(), open=()), states)
            for report in self.rounds.visit(title, level - 1, look):
                found: dict[bytes, bytes] = pickle.loads(report)
                before.update({(level, to): (level - 1, source) for to, source in found.items()})
            reached |= {before[level, state] for state in states}
        return {place: self.steps.trace(_path(place, before)) for place in wanted}


def _path(place: Place, before: Mapping[Place, Place]) -> list[bytes]:
    states = [place[1]]
    while place[0]:
        place = before[place]
        states.append(place[1])
    return states[::-1]
