"""Finds vacuous parts of a spec: actions that are never taken, premises that are never true, and
witnesses that are never reached.

A claim about the members of a set is vacuous if the set is always empty. If an action is never
taken, the report names a conjunct of its guard: the first one that is never true together with all
conjuncts before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.explicit import engines
from checkers.explicit.exploration import Budget, EngineName, Exploration, Task
from model.language import terms as t
from model.language.expressions import conjunction
from model.language.show import show
from model.language.spec import Action, Claim, Spec

LARGEST = 1_000_000  # states: a larger spec is not explored a second time


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """A part of a spec that no reachable state uses. `message` is the reason."""

    of: str  # an action, a claim, or a witness
    message: str

    def __str__(self) -> str:
        return f"{self.of}: {self.message}"


def vacuous(spec: Spec, found: Exploration, engine: EngineName | None = "numpy") -> list[Empty]:
    """Returns the vacuous parts of a spec. Returns an empty list if the exploration is
    incomplete, or has more than a million states.
    """
    if not found.exhausted or found.distinct > LARGEST:
        return []
    candidates = [*_conjuncts(spec, found.never_taken), *_premises(spec, list(found.discoveries))]
    sought = type(spec)(**{name: getattr(spec, name) for name in spec.constants})
    sought.__dict__["witnesses"] = tuple(
        Claim(f"{k}", "", formula, lemma=False) for k, (_, _, formula) in enumerate(candidates)
    )
    budget = Budget(states=None)
    task = Task(spec=sought, claims=(), scope=found.ranges, budget=budget)
    seen = engines.run(task, engine).witnesses if candidates else {}
    out: dict[str, Empty] = {}
    for k, (of, message, _) in enumerate(candidates):
        if not seen[f"{k}"].states:
            out.setdefault(of, Empty(of=of, message=message))
    unseen = [name for name, sighting in found.witnesses.items() if not sighting.states]
    return [
        *out.values(),
        *(Empty(of=name, message="no reachable state satisfies this witness") for name in unseen),
    ]


Candidate = tuple[str, str, t.Node]  # name, message if no state satisfies the formula, formula


def _conjuncts(spec: Spec, names: Sequence[str]) -> Iterator[Candidate]:
    for action in spec.actions:
        if action.name in names:
            for k, guard in enumerate(action.guards):
                where = " where the conjuncts before it are" if k else ""
                # if no state satisfies a guard up to here, this conjunct is why
                text = f"never taken: line {guard.line} is never true{where}: {guard}"
                yield action.name, text, _some(action, k)


def _some(action: Action, last: int) -> t.Node:
    body = conjunction(tuple(g.formula for g in action.guards[: last + 1]))
    return t.Exists(action.params, body) if action.params else body


def _premises(spec: Spec, names: Sequence[str]) -> Iterator[Candidate]:
    for claim in spec.claims:
        if claim.name in names:
            for premise, formula in _implied(claim.formula, (), ()):
                yield claim.name, f"vacuous: this is never true: {show(premise)}", formula
    for lively in spec.liveness_properties:
        if lively.name in names and not isinstance(lively.premise, t.Const):
            message = f"vacuous: this is never true: {show(lively.premise)}"
            params, premise = lively.params, lively.premise
            yield lively.name, message, t.Exists(params, premise) if params else premise


def _implied(
    n: t.Node, binders: tuple[t.Local, ...], premises: tuple[t.Node, ...]
) -> Iterator[tuple[t.Node, t.Node]]:
    match n:
        case t.And():
            for part in n.of:
                yield from _implied(part, binders, premises)
        case t.Forall():
            yield from _implied(n.body, (*binders, *n.binders), premises)
        case t.Implies():
            met = (*premises, n.left)
            body = conjunction(met)
            yield n.left, (t.Exists(binders, body) if binders else body)
            yield from _implied(n.right, binders, met)
        case _:
            return
