"""Z3 with limits: every query of `checkers.symbolic` goes through this module.

Every query has a time limit and a resource limit, even if it should be fast. One axiom made a query
at a finite scope run for ten minutes. A query that reaches a limit returns `unknown` with the
reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import z3

Expr = Any  # z3 has no type annotations
Model = Any
Options = Mapping[str, object]

# several times the usual consumption of Z3: the time limit normally comes first
RESOURCES_PER_MS: Final = 40_000
LARGEST_RLIMIT: Final = 2**32 - 1

# With `ctrl_c`, Z3 handles the signal and stops; Python would handle it only after the query.
INTERRUPTED: Final = ("interrupted from keyboard", "interrupted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a Z3 query, with the reason if the result is `unknown`."""

    verdict: Literal["unsat", "sat", "unknown"]
    seconds: float
    reason: str = ""


def solver_version() -> str:
    """Returns the name and the full version of the solver, such as `Z3 4.13.0.0`."""
    return str(z3.get_full_version())


class Solver:
    """A set of Z3 formulas; each query about this set takes at most `limit_ms` milliseconds."""

    def __init__(
        self, context: z3.Context, *, limit_ms: int, seed: int = 0, options: Options | None = None
    ) -> None:
        limit = max(1, limit_ms)  # for Z3, 0 is no limit
        self._solver = z3.Solver(ctx=context)
        self._solver.set(
            timeout=limit,
            rlimit=min(limit * RESOURCES_PER_MS, LARGEST_RLIMIT),
            random_seed=seed,
            ctrl_c=True,
            **(options or {}),
        )

    def add(self, facts: Iterable[Expr]) -> None:
        self._solver.add(*facts)

    def check(self, *assumptions: Expr) -> Answer:
        """Returns whether formulas and `assumptions` can be true together: sat, unsat or unknown.

        The answer is `unknown` at the time limit. Raises KeyboardInterrupt if the user interrupts
        Z3.
        """
        started = time.perf_counter()
        verdict = str(self._solver.check(*assumptions))
        seconds = time.perf_counter() - started
        match verdict:
            case "sat" | "unsat":
                return Answer(verdict=verdict, seconds=seconds)
            case _:
                reason = self._solver.reason_unknown()
                if reason in INTERRUPTED:
                    raise KeyboardInterrupt
                return Answer(verdict="unknown", seconds=seconds, reason=reason)

    def push(self) -> None:
        self._solver.push()

    def pop(self) -> None:
        self._solver.pop()

    def core(self) -> list[str]:
        """Returns the names of assumptions that contradict the solver's formulas.

        Call it only after a query whose result was `unsat`. Fewer assumptions may suffice.
        """
        return sorted(str(name) for name in self._solver.unsat_core())

    def model(self) -> Model:
        """Returns the model that the last query found; call it only if its result was `sat`."""
        return self._solver.model()

    def declarations(self) -> str:
        """Returns the declarations of the sorts and functions in the formulas, in SMT-LIB."""
        declared, _, _ = self._solver.to_smt2().partition("(assert")
        lines = [line for line in declared.splitlines() if not line.startswith((";", "(set-info"))]
        return "\n".join(lines)
