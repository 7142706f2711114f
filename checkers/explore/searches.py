"""Searches breadth-first for a state, in a separate thread that can be stopped.

To find a state in which a formula is true, the search checks the claim that the formula is always
false. The shortest counterexample to this claim is the path to the state. A search can begin in any
state.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final, Literal

from checkers.counterexample_record import kept
from checkers.explicit.exploration import Budget, Discovery, Exploration, Progress, Stop, Trace
from checkers.explicit.search import explore
from checkers.explore.paths import Path, walked_from_any_start
from checkers.explore.walks import Walk
from model.faults import InputFault
from model.language import terms as t
from model.language.actions import Action, Claim
from model.language.interpreter import State, Value
from model.language.scope import Ranges
from model.language.spec import Spec

WANTED: Final = "wanted"
Status = Literal["running", "found", "none", "stopped"]
Search = Callable[[Callable[[Progress], None]], "Result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    path: str | None
    steps: int | None
    why: str
    states: int
    seconds: float
    loop: int | None = None  # of a liveness property: the step to which the behaviour returns


@dataclass(slots=True)
class Job:
    search: Search
    progress: Progress | None = None
    result: Result | None = None
    error: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def as_json(self) -> dict[str, Any]:
        if self.error:
            return {"status": "failed", "error": self.error}
        if self.result is not None:
            status: Status = "none" if self.result.path is None else "found"
            fields = Result.__dataclass_fields__
            return {"status": status, **{name: getattr(self.result, name) for name in fields}}
        at = self.progress
        return {
            "status": "running",
            "states": at.distinct if at else 0,
            "depth": at.depth if at else 0,
            "queue": at.queue if at else 0,
            "seconds": at.seconds if at else 0.0,
        }

    def _run(self) -> None:
        try:
            self.result = self.search(self._report)
        except InputFault as fault:
            self.error = str(fault)
        except Exception:  # shown in the page, and reported as a bug
            self.error = f"{traceback.format_exc()}this is a bug of Urteil: please report it"

    def _report(self, at: Progress) -> None:
        self.progress = at
        if self.stopping.is_set():
            raise Stop("interrupted")


# ---- the two kinds of searches


def for_a_state(path: Path, formula: t.Node, budget: Budget, *, from_here: bool) -> Search:
    """Returns a search for the nearest state in which the formula is true.

    The search begins in the last state of the path if `from_here` is true, and in the initial
    states of the spec otherwise.
    """
    walk = path.walk
    claim = Claim(WANTED, "", t.Not(formula), lemma=False)
    spec = _with_claim(walk, claim, path.state if from_here else None)

    def search(progress: Callable[[Progress], None]) -> Result:
        found = explore(spec, properties=[WANTED], budget=budget, progress=progress)
        discovery = found.discoveries[WANTED]
        if discovery.verdict != "violated":
            why = discovery.reason or "no reachable state: every one was explored"
            return _none(found, why)
        text = _text(walk, discovery.trace, path if from_here else None)
        return _found(found, text, discovery)

    return search


def for_a_counterexample(walk: Walk, name: str, budget: Budget) -> Search:
    spec = walk.spec
    lively = any(claim.name == name for claim in spec.liveness_properties)

    def search(progress: Callable[[Progress], None]) -> Result:
        safety, liveness = ([], [name]) if lively else ([name], [])
        found = explore(
            spec, properties=safety, liveness=liveness, budget=budget, progress=progress
        )
        if lively:
            from checkers.explicit.liveness import with_liveness  # imports NumPy

            found = with_liveness(spec, found, [name], budget)
        discovery = found.discoveries[name]
        if discovery.verdict != "violated":
            return _none(found, discovery.reason or f"{name} holds in every reachable state")
        result = _found(found, _text(walk, discovery.trace, None), discovery)
        return replace(result, loop=discovery.loop)

    return search


def recorded(walk: Walk, name: str) -> Result | None:
    """Returns the recorded counterexample to the property, or None. A counterexample is recorded
    for one set of constants, so the result is None if `walk` has other constants.
    """
    found = kept().get((walk.variant.spec, walk.variant.name))
    if found is None or found.breaks != name:
        return None
    at = walk.variant.make(walk.variant.at)
    if any(getattr(at, c) != getattr(walk.spec, c) for c in walk.spec.constants):
        return None
    return Result(
        path=walked_from_any_start(walk, "; ".join(found.steps)).text,
        steps=len(found.steps),
        why="from the record of counterexamples",
        states=0,
        seconds=0.0,
        loop=found.loop,
    )


def _none(found: Exploration, why: str) -> Result:
    return Result(path=None, steps=None, why=why, states=found.distinct, seconds=found.seconds)


def _found(found: Exploration, text: str, discovery: Discovery) -> Result:
    return Result(
        path=text,
        steps=discovery.steps,
        why="shortest path",
        states=found.distinct,
        seconds=found.seconds,
    )


def _text(walk: Walk, trace: Trace, after: Path | None) -> str:
    actions = {action.name: action for action in walk.spec.actions}
    calls = [walk.call(actions[s.action], s.values).text for s in trace[1:] if s.action in actions]
    return "; ".join([*_beginning(walk, trace, after), *calls])


def _beginning(walk: Walk, trace: Trace, after: Path | None) -> Sequence[str]:
    if after is not None:
        return [after.text] if after.text else []
    start = next(s for s in walk.starts if dict(s.state) == dict(trace[0].state))
    return [] if start is walk.starts[0] else [start.call.text]


# ---- a spec that begins in a given state


def _with_claim(walk: Walk, claim: Claim, start: State | None) -> Spec:
    spec = walk.spec.unchecked({})
    made = spec.__dict__
    made.update(
        {
            "_title": walk.title,
            "variables": walk.spec.variables,
            "actions": walk.spec.actions,
            "sorts": walk.spec.sorts,
            "initial": walk.spec.initial,
            "claims": (claim,),
            "witnesses": (),
            "action_properties": (),
            "liveness_properties": (),
        }
    )
    if start is not None:
        ranges = walk.interpreter.ranges
        made["initial"] = Action("init", "", (), [], [*_writes(walk.spec, ranges, start)])
    return spec


def _writes(spec: Spec, ranges: Ranges, state: State) -> Sequence[t.Write]:
    return [
        t.Write(
            variable=v,
            keys=tuple(t.Const(k, s) for k, s in zip(keys, v.keys, strict=True)),
            binders=(),
            condition=t.Const(1, t.BOOL),
            value=_literal(state[v.name, keys], v.value),
        )
        for v in spec.variables
        for keys in product(*(ranges[key.name] for key in v.keys))
    ]


def _literal(value: Value, sort: t.SortInfo) -> t.Node:
    if value is None:
        return t.Least(sort)
    if sort.optional:
        return t.Some(t.Const(int(value), t.SortInfo(sort.name, sort.flavour)))
    return t.Const(int(value), sort)
