"""Decides liveness properties: a violation is a fair behaviour, shown as a lasso.

A fair set is a set of states in which a fair behaviour can stay forever (`fairness`).

- `leads_to(p, q)` is violated by a path from a state with p into a fair set, if q is false in every
  state of the path and of the set.
- `eventually(q)` is violated by such a path from an initial state.
- `eventually_always(q)` is violated if a reachable fair set has a state without q.

The check needs the whole graph: if the budget is too small for the graph, the properties stay
undecided. Fault actions are not fair, and the spec bounds their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checkers.explicit.actions import Program
from checkers.explicit.exploration import STOPPED, Budget, Discovery, Exploration
from checkers.explicit.fairness import Fairness, Mask
from checkers.explicit.instance import Instance
from checkers.explicit.transitions import Nodes, TooLarge, Transitions
from model.faults import UnknownName
from model.language import terms as t
from model.language.actions import Liveness
from model.language.expressions import SpecError
from model.language.interpreter import Interpreter, Undefined
from model.language.scope import Scope
from model.language.spec import Spec, title_of

BUDGET = Budget(states=1_000_000)  # about half a gigabyte


def decide(
    spec: Spec,
    properties: Sequence[str] = (),
    *,
    scope: Scope | None = None,
    budget: Budget = BUDGET,
) -> Mapping[str, Discovery]:
    """Returns the verdict on each named liveness property, by default on all of them.

    Raises UnknownName for an unknown property, SpecError for an undefined term.
    """
    claims = {c.name: c for c in spec.liveness_properties}
    for name in properties:
        if name not in claims:
            raise UnknownName(f"liveness property of {title_of(spec)}", name, claims)
    chosen = [c for name, c in claims.items() if not properties or name in properties]
    if not chosen:
        return {}
    try:
        graph = Transitions.of(Program(Instance.of(spec, scope)), budget)
    except TooLarge as why:
        reason = f"liveness needs every state: {why}"
        return {c.name: Discovery(claim=c, verdict="undecided", reason=reason) for c in chosen}
    judge = _Judge(graph, Fairness(graph))
    return {c.name: judge.verdict(c) for c in chosen}


def with_liveness(
    spec: Spec, found: Exploration, properties: Sequence[str], budget: Budget | None = None
) -> Exploration:
    """Returns the exploration, with the verdicts on these liveness properties added.

    The verdicts are `undecided` if the exploration stopped early, or found more states than the
    budget allows.
    """
    if not properties:
        return found
    limits = budget or BUDGET
    if limits.states is not None and found.distinct > limits.states:
        reason = f"liveness needs every state: more than {limits.states:,}"
    elif found.why_stopped not in ("exhausted", "all decided"):
        reason = STOPPED[found.why_stopped]
    else:
        reason = ""
    if not reason:
        decided = decide(spec, properties, scope=found.ranges, budget=limits)
    else:
        decided = {
            c.name: Discovery(claim=c, verdict="undecided", reason=reason)
            for c in spec.liveness_properties
            if c.name in properties
        }
    return replace(found, discoveries={**found.discoveries, **decided})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lasso:
    first: int  # node
    edges: tuple[int, ...]
    loop: int  # the number of edges before the loop


@dataclass(frozen=True)
class _Judge:
    graph: Transitions
    fairness: Fairness

    def verdict(self, claim: Liveness) -> Discovery:
        """Returns the verdict on the property, for all values of its parameters.

        If several values violate it, the verdict has the shortest of their lassos.
        """
        found: list[Discovery] = []
        for env in Interpreter(self.graph.program.at.ranges).bindings(claim.params, {}):
            values = tuple(int(env[p.uid] or 0) for p in claim.params)
            if (lasso := self._lasso(claim, values)) is not None:
                found.append(
                    Discovery(
                        claim=claim,
                        verdict="violated",
                        trace=self.graph.trace(lasso.first, lasso.edges),
                        loop=lasso.loop,
                        values=values,
                    )
                )
        return min(found, key=lambda d: d.steps, default=Discovery(claim=claim, verdict="holds"))

    def _lasso(self, claim: Liveness, values: Sequence[int]) -> _Lasso | None:
        missed = ~self._where(claim.goal, claim, values)
        everywhere = np.ones_like(missed)
        match claim.kind:
            case "eventually always":
                return self._found(everywhere, everywhere, missed)
            case "eventually":
                begun = np.arange(len(missed)) < self.graph.initial
            case "leads to":
                begun = self._where(claim.premise, claim, values)
        return self._found(missed, begun, missed)

    def _found(self, within: Mask, begun: Mask, through: Mask) -> _Lasso | None:
        """Returns a fair lasso, or None if there is none.

        The lasso visits a state in `begun`, and then only states in `within`. Its loop visits a
        state in `through`.
        """
        sets = list(self.fairness.sets(within, through))
        anywhere = np.zeros_like(within)
        for nodes in sets:
            anywhere[nodes] = True
        # Two candidates: a shortest path to a state in which the behaviour can stutter forever, and
        # a shortest path to a fair set, with a loop there. The one with fewer steps is returned.
        resting = self.fairness.resting & within & through
        made = (self._lasso_to(ends, begun, within, sets, through) for ends in (resting, anywhere))
        found = [lasso for lasso in made if lasso is not None]
        return min(found, key=lambda lasso: len(lasso.edges), default=None)

    def _lasso_to(
        self, ends: Mask, begun: Mask, within: Mask, sets: Sequence[Nodes], through: Mask
    ) -> _Lasso | None:
        path = self.fairness.path(begun, within, ends)
        if path is None:
            return None
        initial = begun & within & ends & (self.graph.depths == 0)
        first = int(self.graph.source[path[0]]) if path else int(np.flatnonzero(initial)[0])
        at = int(self.graph.target[path[-1]]) if path else first
        cycle: list[int] = []
        if not (self.fairness.resting[at] and through[at]):
            home = next(nodes for nodes in sets if at in nodes)
            cycle = self.fairness.cycle(home, at, through)
        return _Lasso(first=first, edges=(*path, *cycle), loop=len(path))

    def _where(self, formula: t.Node, claim: Liveness, values: Sequence[int]) -> Mask:
        program = self.graph.program
        env = {
            p.uid: program.at.packed(v, p.sort) for p, v in zip(claim.params, values, strict=True)
        }
        holds, states = program.predicate(formula, env), self.graph.states
        try:
            return np.fromiter(map(holds, states), dtype=bool, count=len(states))
        except Undefined as fault:
            raise SpecError(f"{claim.name} is ill-defined: {fault.what}") from fault
