"""The table of engines: each explores the same task to the same `Exploration`, the fastest first.

An engine may decline a task, with a reason; the next one runs then, and the exploration notes it.
The last declines nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from math import prod

from checkers.explicit.exploration import Exploration, Task
from checkers.explicit.instance import Instance
from model.faults import UnknownName

ENGINES: Mapping[str, str] = {  # name -> the module with its `search(task)`
    "compiled": "checkers.explicit.compiled.engine",
    "numpy": "checkers.explicit.frontiers",
    "python": "checkers.explicit.plain",
}

FEW = 20_000  # states, which take plain Python less time than a compiler


class Declined(Exception):
    """An engine cannot do a task; says why."""


def run(task: Task, engine: str | None = None) -> Exploration:
    """What the engine finds, or the first after it that does not decline.

    By default that is the first of the table, but the last, which takes no time to start, where
    there can't be many states and nothing is asked for that only the first has.

    Raises UnknownName for an engine that is not in the table.
    """
    if engine is not None and engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    names = list(ENGINES)
    special = task.coverage or task.fingerprints or task.memory is not None
    few = not special and most_states(task) <= FEW
    engine = engine or (names[-1] if few else names[0])
    notes: list[str] = []
    for name in names[names.index(engine) :]:
        search: Callable[[Task], Exploration] = import_module(ENGINES[name]).search
        try:
            return replace(search(task), engine=name, notes=tuple(notes))
        except Declined as reason:
            notes.append(f"engine {name}: {reason}")
    raise AssertionError("the last engine declines nothing")


def most_states(task: Task) -> int:
    """A bound on how many states are explored: what the cells can hold, and the budget."""
    at = Instance.of(task.spec, task.scope)
    held = prod(at.size(sort) for _, sort in at.cells)
    return held if task.budget.states is None else min(held, task.budget.states)
