"""What an exploration could not say because nothing asked it: the ways in which green is empty.

An action that is never taken has a first conjunct that is false wherever those before it are true.
A claim that asks for something only under a premise says nothing where the premise is never true;
so does a claim about the members of a set that is always empty. Each such formula is looked for as
a witness, in one more exploration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.explicit import engines
from checkers.explicit.exploration import Budget, Exploration, Task
from model.language import terms as t
from model.language.expressions import conjunction
from model.language.show import show
from model.language.spec import Action, Claim, Spec

LARGEST = 1_000_000  # states: what is larger is not explored a second time


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """Something of a spec that no reachable state exercises."""

    of: str  # an action, a claim, or a witness
    says: str

    def __str__(self) -> str:
        return f"{self.of}: {self.says}"


def vacuous(spec: Spec, found: Exploration, engine: str | None = "numpy") -> list[Empty]:
    """Where the spec is empty, once every reachable state was seen; nothing is known before."""
    if not found.exhausted or found.distinct > LARGEST:
        return []
    asked = [*_conjuncts(spec, found.never_taken), *_premises(spec, list(found.discoveries))]
    sought = type(spec)(**{name: getattr(spec, name) for name in spec.constants})
    sought.__dict__["witnesses"] = tuple(
        Claim(f"{k}", "", formula, lemma=False) for k, (_, _, formula) in enumerate(asked)
    )
    budget = Budget(states=None)
    task = Task(spec=sought, claims=(), scope=found.ranges, budget=budget)
    seen = engines.run(task, engine).witnesses if asked else {}
    out: dict[str, Empty] = {}
    for k, (of, says, _) in enumerate(asked):
        if not seen[f"{k}"].states:
            out.setdefault(of, Empty(of=of, says=says))
    unseen = [name for name, sighting in found.witnesses.items() if not sighting.states]
    return [
        *out.values(),
        *(Empty(of=name, says="a witness that no reachable state shows") for name in unseen),
    ]


Asked = tuple[str, str, t.Node]  # of what, what is said where nothing is such, the formula


def _conjuncts(spec: Spec, names: Sequence[str]) -> Iterator[Asked]:
    """For each action that is never taken, the beginnings of its guard, the shortest first."""
    for action in spec.actions:
        if action.name in names:
            for k, guard in enumerate(action.guards):
                where = " where those before it are" if k else ""
                text = f"never taken: line {guard.line} is never true{where}: {guard}"
                yield action.name, text, _some(action, k)


def _some(action: Action, last: int) -> t.Node:
    body = conjunction(tuple(g.formula for g in action.guards[: last + 1]))
    return t.Exists(action.params, body) if action.params else body


def _premises(spec: Spec, names: Sequence[str]) -> Iterator[Asked]:
    for claim in spec.claims:
        if claim.name in names:
            for premise, formula in _implied(claim.formula, (), ()):
                yield claim.name, f"vacuous: this is never true: {show(premise)}", formula
    for lively in spec.liveness_properties:
        if lively.name in names and not isinstance(lively.premise, t.Const):
            says = f"vacuous: this is never true: {show(lively.premise)}"
            params, premise = lively.params, lively.premise
            yield lively.name, says, t.Exists(params, premise) if params else premise


def _implied(
    n: t.Node, binders: tuple[t.Local, ...], given: tuple[t.Node, ...]
) -> Iterator[tuple[t.Node, t.Node]]:
    """The premises under which the formula asks for something, each as a formula of its own."""
    match n:
        case t.And():
            for part in n.of:
                yield from _implied(part, binders, given)
        case t.Forall():
            yield from _implied(n.body, (*binders, *n.binders), given)
        case t.Implies():
            met = (*given, n.left)
            body = conjunction(met)
            yield n.left, (t.Exists(binders, body) if binders else body)
            yield from _implied(n.right, binders, met)
        case _:
            return
