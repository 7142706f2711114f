"""The data that every breadth-first search stores: its task, start time, depth and first error."""

from __future__ import annotations

import time
from dataclasses import dataclass

from checkers.explicit.exploration import IllDefined, Progress, Stop, Task, Trace
from checkers.explicit.instance import Instance
from model.language.interpreter import Undefined
from model.language.values import Writer


@dataclass
class RunningSearch:
    task: Task
    depth: int = 0
    ill_defined: IllDefined | None = None

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.at = Instance.of(self.task.spec, self.task.scope)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def report(self, *, distinct: int, generated: int, queue: int, liveness: str = "") -> None:
        """Reports the progress of the search. Raises Stop if the budget is spent."""
        self.task.pulse(self.progress(distinct, generated, queue, liveness))

    def progress(self, distinct: int, generated: int, queue: int, liveness: str = "") -> Progress:
        return Progress(
            distinct=distinct,
            generated=generated,
            depth=self.depth,
            queue=queue,
            seconds=self.seconds,
            liveness=liveness,
        )

    def undefined(self, fault: Undefined | None, trace: Trace) -> Stop:
        """Stores the error that a term has a value outside its type. Returns the exception that
        ends the search. The caller must raise it.
        """
        if fault is None:
            raise AssertionError("the interpreter finds no undefined term where the engine did")
        self.ill_defined = IllDefined.of(fault, Writer(self.task.spec, self.at.ranges), trace)
        return Stop("ill-defined")
