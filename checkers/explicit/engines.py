"""The table of search engines, the fastest engine first. All engines find the same result for a
spec.

An engine declines a search that it does not support. In this case, the next engine of the table
runs, and the result contains the reason as a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from checkers.explicit.exploration import Declined, EngineName, Exploration, Task
from checkers.explicit.finite_terms import FiniteTerms
from checkers.explicit.instance import Instance
from model.faults import InputFault, UnknownName

Engine = Callable[[Task], Exploration]


# each engine is imported when it runs: NumPy and the compiler take longer than a small search


def _compiled(task: Task) -> Exploration:
    from checkers.explicit.compiled.engine import search

    return search(task)


def _numpy(task: Task) -> Exploration:
    from checkers.explicit.frontiers import search

    return search(task)


def _python(task: Task) -> Exploration:
    from checkers.explicit.plain import search

    return search(task)


ENGINES: Mapping[EngineName, Engine] = {"compiled": _compiled, "numpy": _numpy, "python": _python}

# Plain Python explores so many states in less time than a compiler needs.
FEW = 20_000
# It writes out each quantifier for all values. Code with so many terms takes it half a second.
FEW_TERMS = 50_000


def run(task: Task, engine: EngineName | None = None) -> Exploration:
    """Explores the states of a spec, and returns the result.

    If `engine` is None, a small spec is explored in plain Python, and every other spec by the first
    engine of `ENGINES`. A search with coverage, fingerprints or a memory limit never counts as
    small. If an engine does not support the search, the next engine of `ENGINES` runs.

    Raises UnknownName if there is no engine with this name. Raises InputFault if the task has
    checkpoints, but the search cannot be compiled.
    """
    if engine is not None and engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    if task.checkpoints is not None:
        return _with_checkpoints(task, engine)
    names = list(ENGINES)
    special = task.coverage or task.fingerprints or task.memory is not None
    engine = engine or (names[-1] if not special and is_small(task) else names[0])
    notes: list[str] = []
    for name in names[names.index(engine) :]:
        try:
            return replace(ENGINES[name](task), engine=name, notes=tuple(notes))
        except Declined as reason:
            notes.append(f"engine {name}: {reason}")
    raise AssertionError("the last engine declined a task")


def _with_checkpoints(task: Task, engine: EngineName | None) -> Exploration:
    if engine not in (None, "compiled"):
        raise InputFault(f"the engine {engine} has no checkpoints\n  use the engine compiled")
    try:
        return replace(_compiled(task), engine="compiled")
    except Declined as reason:
        raise InputFault(f"only a compiled search has checkpoints: {reason}") from reason


def is_small(task: Task) -> bool:
    """Returns True if plain Python probably explores the states in less time than a C compiler
    needs for the spec.
    """
    return most_states(task) <= FEW and terms_of_actions(task) <= FEW_TERMS


def most_states(task: Task) -> int:
    """Returns an upper bound on the number of explored states: the number of all combinations of
    values, or the budget of states if it is smaller.
    """
    at = Instance.of(task.spec, task.scope)
    possible = prod(at.size(sort) for _, sort in at.cells)
    return possible if task.budget.states is None else min(possible, task.budget.states)


def terms_of_actions(task: Task) -> int:
    finite = FiniteTerms(Instance.of(task.spec, task.scope))
    return sum(
        finite.combinations(action.params)
        * (
            sum(finite.unrolled(guard.formula) for guard in action.guards)
            + sum(
                finite.combinations(write.binders)
                * sum(map(finite.unrolled, (*write.keys, write.condition, write.value)))
                for write in action.writes
            )
        )
        for action in task.spec.actions
    )
