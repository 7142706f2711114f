"""Finds the term whose value is outside its type, with the reference interpreter.

A fast engine detects only that there is such a term. These functions return its location: the
action or claim, the line, the conjunct.
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.explicit.instance import Instance, Packed
from model.language.interpreter import Interpreter, Undefined, joined
from model.language.spec import Claim


def diagnose_init(at: Instance) -> Undefined | None:
    """Returns the first term of `init` whose value is outside its type, or None."""
    try:
        Interpreter(at.ranges).initial(at.spec)
    except Undefined as fault:
        return fault
    return None


def diagnose_action(at: Instance, state: Packed) -> Undefined | None:
    """Returns the first term of an action whose value is outside its type in this state, or
    None.
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

    With `after`, the claims about the step from `state` to `after` are checked instead.
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
