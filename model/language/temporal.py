"""Temporal formulas for liveness properties, as in TLA+.

`leads_to(p, q)` is p ~> q, `eventually(q)` is <>q, `always_eventually(q)` is []<>q, and
`eventually_always(q)` is <>[]q.

Without fairness, a behaviour may stop in any state, so hardly any such formula is true. An action
with `@action(fair="weak")` is eventually taken if it stays enabled. An action with
`@action(fair="strong")` is eventually taken if it is enabled infinitely often. The action is fair
for each value of its parameters separately: in TLA+, this is WF_vars(A(x)) for every x. Actions
that model faults are not fair.

Source: Lamport, Specifying Systems, chapter 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.language import terms as t
from model.language.expressions import Bool, formula

Fairness = Literal["weak", "strong"]
Kind = Literal["leads to", "eventually", "eventually always"]

TRUE: t.Node = t.Const(1, t.BOOL)


@dataclass(frozen=True, slots=True)
class Temporal:
    """A formula about behaviours, such as `leads_to(premise, goal)`. The other formulas have only a
    goal, so their `premise` is the term `true`.
    """

    kind: Kind
    premise: t.Node
    goal: t.Node


def leads_to(premise: Bool, goal: Bool) -> Temporal:
    return Temporal("leads to", formula(premise).node, formula(goal).node)


def eventually(goal: Bool) -> Temporal:
    return Temporal("eventually", TRUE, formula(goal).node)


def always_eventually(goal: Bool) -> Temporal:
    return Temporal("leads to", TRUE, formula(goal).node)


def eventually_always(goal: Bool) -> Temporal:
    return Temporal("eventually always", TRUE, formula(goal).node)
