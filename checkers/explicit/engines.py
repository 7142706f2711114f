"""The table of engines: each explores the same task to the same `Exploration`, the fastest first.

An engine may decline a task, with a reason; the next one runs then, and the exploration notes it.
The last declines nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module

from checkers.explicit.exploration import Exploration, Task
from model.faults import UnknownName

ENGINES: Mapping[str, str] = {  # name -> the module with its `search(task)`
    "python": "checkers.explicit.plain",
}


class Declined(Exception):
    """An engine cannot do a task; says why."""


def run(task: Task, engine: str | None = None) -> Exploration:
    """What the engine finds, or the first after it that does not decline; the first by default.

    Raises UnknownName for an engine that is not in the table.
    """
    if engine is not None and engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    names = list(ENGINES)
    notes: list[str] = []
    for name in names[names.index(engine) if engine else 0 :]:
        search: Callable[[Task], Exploration] = import_module(ENGINES[name]).search
        try:
            return replace(search(task), engine=name, notes=tuple(notes))
        except Declined as reason:
            notes.append(f"engine {name}: {reason}")
    raise AssertionError("the last engine declines nothing")
