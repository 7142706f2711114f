"""Z3 under limits: every question to the solver in this room is asked here.

A question has a time limit and a resource limit, also where it cannot be slow: closing a sort by an
axiom once kept a question of a finite scope running for ten minutes. One that reaches a limit is
answered `unknown`, with the reason; it is never forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import z3

Expr = Any  # z3 ships no types: its terms live behind this room
Model = Any
Options = Mapping[str, object]

# several times what Z3 spends: the clock decides, unless it stands still
RESOURCES_PER_MS: Final = 40_000
LARGEST_RLIMIT: Final = 2**32 - 1

# With `ctrl_c` on, Z3 takes the signal itself and stops; left to Python, it would end its question.
INTERRUPTED: Final = ("interrupted from keyboard", "interrupted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Z3 said of a set of facts; `reason` is why it did not know."""

    verdict: Literal["unsat", "sat", "unknown"]
    seconds: float
    reason: str = ""


class Solver:
    """A set of facts that questions are asked about, each within `limit_ms` milliseconds."""

    def __init__(
        self, context: z3.Context, *, limit_ms: int, seed: int = 0, options: Options | None = None
    ) -> None:
        limit = max(1, limit_ms)  # to Z3, 0 means no limit
        self._solver = z3.Solver(ctx=context)
        self._solver.set(
            timeout=limit,
            rlimit=min(limit * RESOURCES_PER_MS, LARGEST_RLIMIT),
            random_seed=seed,
            ctrl_c=True,
            **(options or {}),
        )

    def add(self, facts: Iterable[Expr]) -> None:
        """From here on these facts are among those asked about."""
        self._solver.add(*facts)

    def check(self, *assumptions: Expr) -> Answer:
        """Whether the facts and the assumptions can be true together.

        Raises KeyboardInterrupt when the user interrupts Z3.
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
        """Facts added from here on are forgotten by the next pop."""
        self._solver.push()

    def pop(self) -> None:
        self._solver.pop()

    def core(self) -> list[str]:
        """The assumptions that, with the facts, contradict each other; not the fewest."""
        return sorted(str(name) for name in self._solver.unsat_core())

    def model(self) -> Model:
        """The interpretation that made the last question's facts true."""
        return self._solver.model()
