"""Ground instances: the claims, said outright of the things that a step is about.

E-matching instantiates a quantifier only where some term matches its trigger, and stops at once
where none does, however short the proof. So a hard condition is helped to terms: the parameters of
the action, one thing of each kind that the goal is said to fail for, and every variable read at
these. Each claim is then added for all of them, beside its general form.

Measured on the abstract replication spec: conditions that no configuration of Z3 settled in forty
seconds take a tenth of one, on every seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final

import z3

from checkers.symbolic.limits import Expr
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Env, extended
from model.language import terms as t
from model.language.spec import Action, Claim

MOST: Final = 20_000  # instances of one quantifier; with more it stays general

Things = dict[str, list[Expr]]  # sort -> terms of it, each once


def failing(step: Step, action: Action, claim: Claim) -> tuple[Expr, list[tuple[str, Expr]]]:
    """The claim after the step, of things that it may fail for, and these things."""
    formula, env, things = claim.formula, dict[int, Expr](), list[tuple[str, Expr]]()
    if isinstance(formula, t.Forall):
        fresh = [z3.FreshConst(step.sorts.of(b.sort), b.name) for b in formula.binders]
        env = dict(extended(env, formula.binders, fresh))
        things = [(b.sort.name, c) for b, c in zip(formula.binders, fresh, strict=True)]
        formula = formula.body
    return step.formula(formula, step.after(action), env), things


def instances(
    step: Step, action: Action, about: Sequence[tuple[str, Expr]], claims: Sequence[Claim]
) -> list[Expr]:
    """The claims about the state before, for all things that the step is about."""
    things = _things(step, action, about)
    return [
        step.formula(quantifier.body, step.before, env)
        for claim in claims
        for quantifier in _quantifiers(claim.formula)
        for env in _bindings(quantifier, things)
    ]


def _things(step: Step, action: Action, about: Sequence[tuple[str, Expr]]) -> Things:
    args = step.arguments(action)
    named = [(p.sort.name, args[p.uid]) for p in action.params]
    start = _each_once([*named, *about])
    read = [
        (v.value.name, step.before.at(v, keys))
        for v in step.spec.variables
        if v.value.flavour != "bool" and not v.value.optional and len(v.keys) <= 1
        for keys in product(*(start.get(key.name, []) for key in v.keys))
    ]
    return _each_once([*named, *about, *read])


def _each_once(terms: Sequence[tuple[str, Expr]]) -> Things:
    things: Things = {}
    for sort, term in terms:
        known = things.setdefault(sort, [])
        if not any(term.eq(other) for other in known):
            known.append(term)
    return things


def _quantifiers(formula: t.Node) -> Iterator[t.Forall]:
    """The universal quantifiers that the formula is a conjunction of."""
    match formula:
        case t.And():
            for part in formula.of:
                yield from _quantifiers(part)
        case t.Forall():
            yield formula
        case _:
            return


def _bindings(quantifier: t.Forall, things: Things) -> Iterator[Env]:
    domains = [things.get(b.sort.name, []) for b in quantifier.binders]
    if prod(map(len, domains)) <= MOST:
        for values in product(*domains):
            yield extended({}, quantifier.binders, values)
