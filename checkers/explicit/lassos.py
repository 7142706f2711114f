"""Finds shortest violations of liveness properties in a state graph, as lassos.

A *lasso* is a path, followed by a loop that repeats forever. A *fair* set is a set of states in
which a fair behaviour can stay forever (`fairness`).

- `leads_to(p, q)` is violated by a path from a state with p into a fair set, if q is false in every
  state of the path and of the set.
- `eventually(q)` is violated by a path from an initial state into a fair set, if q is false in
  every state of the path and of the set.
- `eventually_always(q)` is violated if a reachable fair set contains a state without q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from checkers.explicit.exploration import (
    STOPPED,
    Discovery,
    Trace,
    WhyStopped,
    not_every_state,
    undecided,
    until_stopped,
)
from model.language.actions import Liveness
from model.language.interpreter import Interpreter
from model.language.scope import Ranges

Mask = NDArray[np.bool_]  # one truth value for each node
Formula = Literal["premise", "goal"]


class States(Protocol):
    """The states of a state graph, in breadth-first order from the initial states."""

    @property
    def ranges(self) -> Ranges: ...

    @property
    def initial(self) -> int: ...

    def where(self, claim: Liveness, formula: Formula, values: Sequence[int]) -> Mask:
        """Returns a mask of the states in which the claim's `formula` (premise or goal) is true.

        `values` are the values of the claim's parameters.
        """
        ...

    def trace(self, start: int, edges: Sequence[int]) -> Trace: ...


class Cycles(Protocol):
    """The numbered transitions of a state graph. A path is a list of these numbers."""

    def resting(self) -> Mask:
        """Returns a mask of the states in which a behaviour can stutter forever: no fair action
        leads from such a state to another state.
        """
        ...

    def fair(self, within: Mask, through: Mask) -> Mask:
        """Returns a mask of the states that some fair behaviour visits infinitely often.

        From some state on, the behaviour must stay in the states of `within`. It must visit states
        of `through` infinitely often.
        """
        ...

    def ends_of(self, edge: int) -> tuple[int, int]: ...

    def path(self, begun: Mask, within: Mask, ends: Mask) -> list[int] | None:
        """Returns a shortest path from an initial state to a state of `ends`. Returns None if there
        is no path.

        The path visits a state of `begun`, and it stays in `within` from this state on.
        """
        ...

    def cycle(self, start: int, fair: Mask, through: Mask) -> list[int]:
        """Returns the transitions of a fair cycle that contains `start` and a state of `through`.

        `fair` is the result of the method `fair`: a union of sets of states in which a fair
        behaviour can stay forever. The cycle stays in one of these sets.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasso:
    first: int  # node
    edges: tuple[int, ...]
    loop: int  # the number of edges before the loop


@dataclass(frozen=True)
class Judge:
    states: States
    cycles: Cycles

    def verdict(self, claim: Liveness) -> Discovery:
        """Returns the verdict on a liveness property. The property must hold for all values of its
        parameters.

        If the property is violated, the verdict has the shortest of the counterexamples found for
        these values.
        """
        found: list[Discovery] = []
        for env in Interpreter(self.states.ranges).bindings(claim.params, {}):
            values = tuple(int(env[p.uid] or 0) for p in claim.params)
            if (lasso := self._lasso(claim, values)) is not None:
                found.append(
                    Discovery(
                        claim=claim,
                        verdict="violated",
                        trace=self.states.trace(lasso.first, lasso.edges),
                        loop=lasso.loop,
                        values=values,
                    )
                )
        return min(found, key=lambda d: d.steps, default=Discovery(claim=claim, verdict="holds"))

    @cached_property
    def _resting(self) -> Mask:
        return self.cycles.resting()

    def _lasso(self, claim: Liveness, values: Sequence[int]) -> Lasso | None:
        missed = ~self.states.where(claim, "goal", values)
        match claim.kind:
            case "eventually always":
                everywhere = np.ones_like(missed)
                return self._found(everywhere, everywhere, missed)
            case "eventually":
                begun = np.zeros_like(missed)
                begun[: self.states.initial] = True
            case "leads to":
                begun = self.states.where(claim, "premise", values)
        return self._found(missed, begun, missed)

    def _found(self, within: Mask, begun: Mask, through: Mask) -> Lasso | None:
        """Returns a lasso (a path and a loop at its end) that is a fair behaviour, or None if there
        is no such lasso.

        The lasso contains a state of `begun`. From this state on, all states are in `within`. The
        loop contains a state of `through`.
        """
        fair = self.cycles.fair(within, through)
        if not fair.any():
            return None
        # Two candidates: a shortest path to a state in which the behaviour can stutter forever, and
        # a shortest path to a fair set, with a loop there. The one with fewer steps is returned.
        resting = self._resting & within & through
        made = (self._lasso_to(ends, begun, within, fair, through) for ends in (resting, fair))
        found = [lasso for lasso in made if lasso is not None]
        return min(found, key=lambda lasso: len(lasso.edges), default=None)

    def _lasso_to(
        self, ends: Mask, begun: Mask, within: Mask, fair: Mask, through: Mask
    ) -> Lasso | None:
        path = self.cycles.path(begun, within, ends)
        if path is None:
            return None
        if path:
            first, at = self.cycles.ends_of(path[0])[0], self.cycles.ends_of(path[-1])[1]
        else:
            start = slice(self.states.initial)
            first = at = int(np.flatnonzero(begun[start] & within[start] & ends[start])[0])
        cycle: list[int] = []
        if not (self._resting[at] and through[at]):
            cycle = self.cycles.cycle(at, fair, through)
        return Lasso(first=first, edges=(*path, *cycle), loop=len(path))


Judged = tuple[WhyStopped, dict[str, Discovery]]


def judged(judge: Callable[[], Judge], claims: Sequence[Liveness]) -> Judged:
    """Decides the properties one after another. Returns why the checks ended, and the verdicts by
    the names of the properties.

    After Ctrl-C or a limit, the verdicts found before are returned, and the remaining properties
    are undecided.
    """
    decided: dict[str, Discovery] = {}

    def decide_each() -> None:
        made = judge()
        for claim in claims:
            decided[claim.name] = made.verdict(claim)

    why = until_stopped(decide_each)
    left = [claim for claim in claims if claim.name not in decided]
    early = undecided if why == "interrupted" else not_every_state
    return why, {**decided, **early(left, STOPPED[why])}


__all__ = ["Cycles", "Judge", "Judged", "Mask", "States", "judged"]
