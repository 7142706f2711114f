"""Ground instances: the claims with terms of a step in place of quantified variables.

Z3 instantiates a quantifier only with terms that match the quantifier's trigger. If no term
matches, Z3 stops at once with the answer unknown, even if a short proof exists. So for hard
conditions, this module also instantiates each claim with these terms:

- the parameters of the action;
- fresh constants for the quantified variables of the goal;
- the values of the state variables at these parameters and constants.

In the abstract replication spec, some conditions were undecided after 40 seconds. With ground
instances they take 0.1 seconds.
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

MOST: Final = 20_000  # instances of one quantifier; a quantifier with more is not instantiated

Terms = dict[str, list[Expr]]  # sort -> its distinct terms


def failing(step: Step, action: Action, claim: Claim) -> tuple[Expr, list[tuple[str, Expr]]]:
    """Returns a formula that Z3 can make false exactly if the step can break the claim, and a list
    of the constants in the formula.

    The formula is the claim after the step. If the claim is a `forall`, or a conjunction with
    `forall` parts, fresh constants replace the variables of these quantifiers. The list has the
    type name and the constant of each such variable.

    The parts of a conjunction share their constants. This loses no counterexample: if a state makes
    a part false, it makes this part false for some values of its constants.
    """
    after, fresh = step.after(action), dict[tuple[str, int], Expr]()

    def constants(binders: Sequence[t.Local]) -> Iterator[Expr]:
        names = [b.sort.name for b in binders]
        for at, b in enumerate(binders):
            key = b.sort.name, names[:at].count(b.sort.name)
            if key not in fresh:
                fresh[key] = z3.FreshConst(step.sorts.of(b.sort), b.name)
            yield fresh[key]

    def without_quantifiers(node: t.Node) -> Expr:
        match node:
            case t.And():
                return step.translation.all_of([without_quantifiers(part) for part in node.of])
            case t.Forall():
                env = extended({}, node.binders, list(constants(node.binders)))
                return step.formula(node.body, after, env)
            case _:
                return step.formula(node, after)

    formula = without_quantifiers(claim.formula)
    return formula, [(sort, constant) for (sort, _), constant in fresh.items()]


def instances(
    step: Step, action: Action, about: Sequence[tuple[str, Expr]], claims: Sequence[Claim]
) -> list[Expr]:
    """Returns the formula `p(c)` for each `forall x: p(x)` in the claims, and for each term `c`.

    The terms are the action's parameters, the terms in `about`, and the values of state variables
    at these terms, such as `leader[c]`. The formulas describe the state before the step. A
    quantifier with more than MOST instances is not instantiated.
    """
    terms = _terms(step, action, about)
    return [
        step.formula(quantifier.body, step.before, env)
        for claim in claims
        for quantifier in _quantifiers(claim.formula)
        for env in _bindings(quantifier, terms)
    ]


def _terms(step: Step, action: Action, about: Sequence[tuple[str, Expr]]) -> Terms:
    args = step.arguments(action)
    named = [(p.sort.name, args[p.uid]) for p in action.params]
    start = _distinct([*named, *about])
    read = [
        (v.value.name, step.before.at(v, keys))
        for v in step.spec.variables
        if v.value.flavour != "bool" and not v.value.optional and len(v.keys) <= 1
        for keys in product(*(start.get(key.name, []) for key in v.keys))
    ]
    return _distinct([*named, *about, *read])


def _distinct(found: Sequence[tuple[str, Expr]]) -> Terms:
    terms: Terms = {}
    for sort, term in found:
        known = terms.setdefault(sort, [])
        if not any(term.eq(other) for other in known):
            known.append(term)
    return terms


def _quantifiers(formula: t.Node) -> Iterator[t.Forall]:
    match formula:
        case t.And():
            for part in formula.of:
                yield from _quantifiers(part)
        case t.Forall():
            yield formula
        case _:
            return


def _bindings(quantifier: t.Forall, terms: Terms) -> Iterator[Env]:
    domains = [terms.get(b.sort.name, []) for b in quantifier.binders]
    if prod(map(len, domains)) <= MOST:
        for values in product(*domains):
            yield extended({}, quantifier.binders, values)
