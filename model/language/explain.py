"""Explains why a formula is false: names the false conjunct, the elements of the quantifiers and
the premises.

Most claims have the form `forall(premise => (this & that))`. The explanation names the elements
that violate the claim, the premise that is true for these elements, and the false conjunct.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.language import terms as t
from model.language.interpreter import Env, Interpreter, State, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A false part of a formula, with the values of its variables. `premises` are the left sides of
    the implications around this part; they are true.
    """

    conjunct: t.Node
    env: Env
    chosen: Mapping[t.Local, Value]  # of the quantifiers around the conjunct, outermost first
    premises: tuple[t.Node, ...]


def why_false(
    interpreter: Interpreter, formula: t.Node, state: State, env: Env | None = None
) -> Reason:
    """Returns the innermost false part of a false formula. If several parts are false, returns the
    first false part.
    """
    at = Reason(conjunct=formula, env=env or {}, chosen={}, premises=())
    while (deeper := _deeper(interpreter, at, state)) is not None:
        at = deeper
    return at


def _deeper(interpreter: Interpreter, at: Reason, state: State) -> Reason | None:
    def fails(x: t.Node, env: Env) -> bool:
        return not interpreter.holds(x, state, env)

    match at.conjunct:
        case t.And(of=parts):
            part = next(x for x in parts if fails(x, at.env))
            return _with(at, part)
        case t.Not(of=t.Or(of=parts)):
            part = next(x for x in parts if not fails(x, at.env))
            return _with(at, part.of if isinstance(part, t.Not) else t.Not(part))
        case t.Not(of=t.Not(of=inner)):
            return _with(at, inner)
        case t.Implies(left=left, right=right):
            return _with(at, right, *conjuncts(left))
        case t.Forall(binders=binders, body=body):
            env = next(e for e in interpreter.bindings(binders, at.env) if fails(body, e))
            chosen = {**at.chosen, **{b: env[b.uid] for b in binders}}
            return Reason(conjunct=body, env=env, chosen=chosen, premises=at.premises)
        case t.Ite(test=test, then=then, other=other) if at.conjunct.sort == t.BOOL:
            if fails(test, at.env):
                return _with(at, other, t.Not(test))
            return _with(at, then, test)
        case _:
            return None


def _with(at: Reason, conjunct: t.Node, *premises: t.Node) -> Reason:
    return Reason(
        conjunct=conjunct, env=at.env, chosen=at.chosen, premises=(*at.premises, *premises)
    )


def conjuncts(formula: t.Node) -> tuple[t.Node, ...]:
    """Returns the members of a conjunction. The members of a nested conjunction are listed in its
    place. For any other formula, returns a tuple with only the formula.
    """
    if isinstance(formula, t.And):
        return tuple(x for part in formula.of for x in conjuncts(part))
    return (formula,)
