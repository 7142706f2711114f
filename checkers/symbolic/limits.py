"""Runs Z3 with limits. The queries of `checkers.symbolic` go through this module, except the
queries of `small_induction`.

Even a query that should be fast has two limits, because an additional axiom once made a run last
ten minutes. The first limit counts Z3's own units of work (its option `rlimit`), so it has the same
effect on every machine. One second of CPU time is 2 to 14 million units. The second limit is wall
time, as a last resort.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import z3

from checkers.symbolic.interruptible import interruptible

Expr = Any  # z3 has no type annotations
Model = Any
Options = Mapping[str, object]

MILLION: Final = 1_000_000
LARGEST_UNITS: Final = 2**32 - 1  # of Z3's option
UNITS: Final = 100 * MILLION  # for one condition, over all of its attempts
LIMIT_MS: Final = 600_000  # for one condition too


INTERRUPTED: Final = "interrupted"  # Z3's word


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    seed: int = 0
    units: int = UNITS
    limit_ms: int = LIMIT_MS
    # called before each query; it may raise KeyboardInterrupt
    poll: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    verdict: Literal["unsat", "sat", "unknown"]
    seconds: float
    units: int = 0  # of the solver's work
    reason: str = ""


def solver_version() -> str:
    """Returns the name and the version of Z3, such as `Z3 4.13.0.0`."""
    return str(z3.get_full_version())


class Solver:
    """A set of Z3 formulas. Each query about this set has two limits: Z3's units of work, and
    wall time.
    """

    def __init__(
        self,
        context: z3.Context,
        *,
        units: int = UNITS,
        limit_ms: int = LIMIT_MS,
        seed: int = 0,
        options: Options | None = None,
    ) -> None:
        self._context = context
        self._solver = z3.Solver(ctx=context)
        self._solver.set(
            timeout=max(1, limit_ms),  # for Z3, 0 is no limit
            rlimit=min(max(1, units), LARGEST_UNITS),
            random_seed=seed,
            ctrl_c=False,  # the signal is Python's: see `interruptible`
            **(options or {}),
        )

    def add(self, facts: Iterable[Expr]) -> None:
        self._solver.add(*facts)

    def check(self, *assumptions: Expr) -> Answer:
        """Returns whether the formulas and `assumptions` can be true together: `sat`, `unsat` or
        `unknown`.

        The result is `unknown` if Z3 reaches a limit. Raises KeyboardInterrupt if the user presses
        Ctrl-C.
        """
        started, before = time.perf_counter(), self._units()
        verdict = str(
            interruptible(lambda: self._solver.check(*assumptions), self._context.interrupt)
        )
        seconds, units = time.perf_counter() - started, self._units() - before
        match verdict:
            case "sat" | "unsat":
                return Answer(verdict=verdict, seconds=seconds, units=units)
            case _:
                reason = self._solver.reason_unknown()
                if reason == INTERRUPTED:  # and Python's handler ran in a destructor
                    raise KeyboardInterrupt
                return Answer(verdict="unknown", seconds=seconds, units=units, reason=reason)

    def _units(self) -> int:
        """Returns the units of work that Z3 has done so far for all solvers of this context."""
        return int(self._solver.statistics().get_key_value("rlimit count"))

    def push(self) -> None:
        self._solver.push()

    def pop(self) -> None:
        self._solver.pop()

    def core(self) -> list[str]:
        """Returns the names of assumptions that contradict the formulas. Call this method only
        if the latest query was `unsat`.
        """
        return sorted(str(name) for name in self._solver.unsat_core())

    def model(self) -> Model:
        """Returns the model that the latest query found. Call this method only if the latest
        query was `sat`.
        """
        return self._solver.model()

    def declarations(self) -> str:
        declared, _, _ = self._solver.to_smt2().partition("(assert")
        lines = [line for line in declared.splitlines() if not line.startswith((";", "(set-info"))]
        return "\n".join(lines)
