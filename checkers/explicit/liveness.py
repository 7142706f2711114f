"""Decides liveness properties. A violation is a fair behaviour that ends in a loop (a lasso).

The check needs the whole state graph. If a limit ends the exploration early, the properties are
undecided. Fault actions are not fair, so a fair behaviour need not take them. The spec bounds the
number of faults, so no loop contains a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from checkers.explicit import engines
from checkers.explicit.actions import Program
from checkers.explicit.exploration import (
    STOPPED,
    Budget,
    Declined,
    Discovery,
    EngineName,
    Exploration,
    Progress,
    Task,
    TooLarge,
    not_every_state,
    undecided,
)
from checkers.explicit.fairness import Fairness
from checkers.explicit.instance import Instance
from checkers.explicit.lassos import Judge, Judged, judged
from checkers.explicit.transitions import Transitions
from model.faults import UnknownName
from model.language.actions import Liveness
from model.language.expressions import SpecError
from model.language.scope import Scope
from model.language.spec import Spec, title_of

MOST_IN_PYTHON = 1_000_000  # states; about half a gigabyte


def decide(
    spec: Spec,
    properties: Sequence[str] = (),
    *,
    scope: Scope | None = None,
    budget: Budget | None = None,
    engine: EngineName | None = None,
    memory: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Mapping[str, Discovery]:
    """Returns the verdict on each liveness property in `properties`, by name. If `properties` is
    empty, all liveness properties are decided.

    If `engine` is None, plain Python decides small graphs, and compiled code decides larger graphs
    if there is a C compiler.

    If `budget` is None, plain Python explores at most a million states. The compiled engine
    explores as many states as fit into `memory` bytes. The default of `memory` is 4 GB, or half of
    the machine's memory if that is less.

    Raises UnknownName for an unknown property, SpecError for a term whose value is outside its
    type, and KeyboardInterrupt after Ctrl-C.
    """
    why, found = _decided(spec, properties, scope, budget, engine, memory, progress)
    if why == "interrupted":
        raise KeyboardInterrupt
    return found


def _decided(
    spec: Spec,
    properties: Sequence[str],
    scope: Scope | None,
    budget: Budget | None,
    engine: EngineName | None,
    memory: int | None,
    progress: Callable[[str], None],
) -> Judged:
    claims = {c.name: c for c in spec.liveness_properties}
    for name in properties:
        if name not in claims:
            raise UnknownName("liveness property", name, claims, of=title_of(spec))
    chosen = [c for name, c in claims.items() if not properties or name in properties]
    if not chosen:
        return "exhausted", {}
    at = Instance.of(spec, scope)
    task = Task(spec=spec, claims=(), lively=chosen, scope=scope, budget=budget or Budget())
    try:
        if engine == "compiled" or (engine is None and not engines.is_small(task)):
            try:
                limits = budget or Budget(states=None)
                return _in_c(replace(task, budget=limits), memory, progress)
            except Declined:  # no compiler
                pass
        return _in_python(at, chosen, budget or Budget(states=MOST_IN_PYTHON))
    except TooLarge as why:
        return "exhausted", not_every_state(chosen, why)


def _in_c(task: Task, memory: int | None, progress: Callable[[str], None]) -> Judged:
    from checkers.explicit.compiled.engine import Search
    from checkers.explicit.compiled.state_graph import memory_of_machine

    def report(at: Progress) -> None:
        progress(f"liveness: {at.liveness or f'{at.distinct:,} states'}")

    search = Search(replace(task, progress=report), graph_memory=memory or memory_of_machine())
    found = search.run()
    if found.ill_defined is not None:
        title, fault = title_of(task.spec), found.ill_defined
        raise SpecError(f"{title} is ill-defined: {fault.where}: {fault.what}")
    why = found.why_stopped
    if why == "interrupted":
        return why, {**undecided(task.lively, STOPPED[why]), **found.discoveries}
    if not found.exhausted:
        raise TooLarge(STOPPED[why])
    return why, dict(found.discoveries)


def _in_python(at: Instance, claims: Sequence[Liveness], budget: Budget) -> Judged:
    def judge() -> Judge:
        graph = Transitions.of(Program(at), budget)
        return Judge(graph, Fairness(graph))

    return judged(judge, claims)


def with_liveness(
    spec: Spec,
    found: Exploration,
    properties: Sequence[str],
    budget: Budget | None = None,
    memory: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Exploration:
    """Returns the exploration, with the verdicts on these liveness properties added.

    Properties that the exploration has already decided are not decided again. For the other
    properties, the states are explored again: by the compiled engine if it made the exploration,
    and by plain Python otherwise.

    The verdicts are `undecided` if the exploration stopped early, or if the graph is too large.
    After Ctrl-C, the result has the verdicts found before.
    """
    names = [name for name in properties if name not in found.discoveries]
    if not names:
        return found
    why = found.why_stopped
    if reason := _why_not(found, budget):
        chosen = [c for c in spec.liveness_properties if c.name in names]
        decided = undecided(chosen, reason)
    else:
        engine: EngineName = "compiled" if found.engine == "compiled" else "python"
        ended, decided = _decided(spec, names, found.ranges, budget, engine, memory, progress)
        why = ended if ended == "interrupted" else why
    return replace(found, why_stopped=why, discoveries={**found.discoveries, **decided})


def _why_not(found: Exploration, budget: Budget | None) -> str:
    if found.why_stopped not in ("exhausted", "all decided"):
        return STOPPED[found.why_stopped]
    in_python = None if found.engine == "compiled" else MOST_IN_PYTHON
    most = in_python if budget is None else budget.states
    if most is not None and found.distinct > most:
        return f"liveness needs every state: more than {most:,}"
    return ""
