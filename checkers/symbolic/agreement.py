"""Compares two solvers: Z3 and cvc5 must not contradict each other about a condition of a proof.

If cvc5 leaves a condition *unknown*, this is no contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.symbolic.counterexample import EnginesDisagree
from checkers.symbolic.limits import LIMIT_MS
from checkers.symbolic.second_solver import UNITS, Opinion, opinion
from checkers.symbolic.smtlib import Script

NAMED: Final = 5  # unknown conditions whose names a text has


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    script: Script
    second: Opinion

    @property
    def agrees(self) -> bool:
        return self.second.verdict == self.script.condition.verdict != "unknown"

    @property
    def disagrees(self) -> bool:
        both = {self.second.verdict, self.script.condition.verdict}
        return both == {"proved", "refuted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The verdicts of Z3 and of cvc5 on the conditions of a proof. Conditions that are proved
    without a solver are left out.
    """

    compared: tuple[Compared, ...]
    conditions: int
    interrupted: bool = False

    @property
    def agreed(self) -> int:
        return sum(one.agrees for one in self.compared)

    @property
    def unknown(self) -> tuple[Compared, ...]:
        """The conditions that cvc5 leaves unknown."""
        return tuple(one for one in self.compared if one.second.verdict == "unknown")

    @property
    def alone(self) -> tuple[Compared, ...]:
        """The conditions that cvc5 proves or refutes, but Z3 leaves unknown."""
        return tuple(
            one
            for one in self.compared
            if one.script.condition.verdict == "unknown" != one.second.verdict
        )

    @property
    def seconds(self) -> float:
        return sum(one.second.seconds for one in self.compared)

    def __str__(self) -> str:
        text = f"agrees on {self.agreed} of {self.conditions} conditions"
        for found, what in ((self.unknown, "unknown"), (self.alone, "decided by cvc5 only")):
            names = ", ".join(one.script.name for one in found[:NAMED])
            more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
            text += f", {len(found)} {what} ({names}{more})" if found else ""
        return f"{text}, {self.seconds:.1f} s{': interrupted' if self.interrupted else ''}"


# called with a condition, its number from 1, and the number of conditions
CompareProgress = Callable[[Compared, int, int], None]


def agreement(
    conditions: Sequence[Script],
    *,
    units: int = UNITS,
    limit_ms: int = LIMIT_MS,
    progress: CompareProgress | None = None,
) -> Agreement:
    """Decides each condition of a proof a second time, with cvc5, and compares cvc5's verdict with
    Z3's.

    `units` limits the work of cvc5 for one condition, and `limit_ms` limits its wall time. If the
    user presses Ctrl-C, the result has the conditions that were compared until then. Raises
    EnginesDisagree if one solver proves a condition that the other solver refutes.
    """
    compared: list[Compared] = []
    interrupted = False
    try:
        for script in conditions:
            second = opinion(script, units=units, limit_ms=limit_ms)
            compared.append(Compared(script=script, second=second))
            if compared[-1].disagrees:
                first = script.condition.verdict
                raise EnginesDisagree(
                    f"{script.title}: {first} by Z3, {second.verdict} by cvc5 ({second.how})"
                )
            if progress is not None:
                progress(compared[-1], len(compared), len(conditions))
    except KeyboardInterrupt:
        interrupted = True
    return Agreement(compared=tuple(compared), conditions=len(conditions), interrupted=interrupted)
