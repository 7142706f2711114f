"""What must happen: the words for claims about whole behaviours, as TLA+ has them.

`leads_to(p, q)` is p ~> q, `eventually(q)` is <>q, `always_eventually(q)` is []<>q,
`eventually_always(q)` is <>[]q. Without fairness none of them could hold: a behaviour may stop
anywhere. What an action promises is said where it is declared: `@action(fair="weak")` is taken, for
each choice of its parameters, unless it is disabled again and again; `fair="strong"` even then,
unless it stays disabled. Faults promise nothing.

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
    """A formula about a behaviour; `premise` matters to `leads to` alone."""

    kind: Kind
    premise: t.Node
    goal: t.Node


def leads_to(premise: Bool, goal: Bool) -> Temporal:
    """Whenever the premise is true, the goal is true then or later."""
    return Temporal("leads to", formula(premise).node, formula(goal).node)


def eventually(goal: Bool) -> Temporal:
    """The goal is true at some time."""
    return Temporal("eventually", TRUE, formula(goal).node)


def always_eventually(goal: Bool) -> Temporal:
    """The goal is true again and again, for ever."""
    return Temporal("leads to", TRUE, formula(goal).node)


def eventually_always(goal: Bool) -> Temporal:
    """From some time on, the goal stays true."""
    return Temporal("eventually always", TRUE, formula(goal).node)
