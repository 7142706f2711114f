"""Finds the term whose value is outside its type, with the reference interpreter of specs.

A fast engine detects only that such a term exists. These functions return where the term is: its
action or claim, its line, and its conjunct.
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.explicit.instance import Instance, Packed
from model.language.interpreter import Interpreter, Undefined, joined
from model.language.spec import Claim


def diagnose_init(at: Instance) -> Undefined | None:
    """Returns the first term of `init` whose value is outside its type, or None if there is no
    such term.
    """
    try:
        Interpreter(at.ranges).initial(at.spec)
    except Undefined as fault:
        return fault
    return None


def diagnose_action(at: Instance, state: Packed) -> Undefined | None:
    """Returns the first term of an action whose value is outside its type in this state, or None
    if there is no such term.
    """
    try:
        for _ in Interpreter(at.ranges).steps(at.spec, at.unpack(state)):
            pass
    except Undefined as fault:
        return fault
    return None


def diagnose_claim(
    at: Instance, claims: Sequence[Claim], state: Packed, after: Packed | None = None
) -> Undefined | None:
    """Returns the first term of the claims whose value is outside its type in this state, or None.

    If `after` is None, the claims about states are checked. Otherwise the claims about steps are
    checked, for the step from `state` to `after`.
    """
    interpreter = Interpreter(at.ranges)
    about = "states" if after is None else "steps"
    read = at.unpack(state)
    if after is not None:
        read = joined(read, at.unpack(after))
    for claim in claims:
        try:
            if claim.about == about:
                interpreter.holds(claim.formula, read)
        except Undefined as fault:
            return Undefined(fault.what, claim.name)
    return None
