"""Temporal formulas for liveness properties, as in TLA+.

`leads_to(p, q)` is p ~> q, `eventually(q)` is <>q, `always_eventually(q)` is []<>q,
`eventually_always(q)` is <>[]q. Without fairness a behaviour may stop anywhere, so none of them
could hold. An action declares its fairness. `@action(fair="weak")` is taken, for each choice of
its parameters, unless it is disabled infinitely often. `fair="strong"` is taken even then, unless
it stays disabled for ever. Faults are not fair.

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
    """A formula about a behaviour; only `leads to` uses the premise."""

    kind: Kind
    premise: t.Node
    goal: t.Node


def leads_to(premise: Bool, goal: Bool) -> Temporal:
    """Whenever the premise is true, the goal is true in that state or in a later one."""
    return Temporal("leads to", formula(premise).node, formula(goal).node)


def eventually(goal: Bool) -> Temporal:
    """The goal is true in some state of the behaviour."""
    return Temporal("eventually", TRUE, formula(goal).node)


def always_eventually(goal: Bool) -> Temporal:
    """The goal is true infinitely often."""
    return Temporal("leads to", TRUE, formula(goal).node)


def eventually_always(goal: Bool) -> Temporal:
    """From some state on, the goal stays true."""
    return Temporal("eventually always", TRUE, formula(goal).node)
