"""Who is to blame for a term without a value: the reference interpreter, which is slow, knows.

An engine that notices one asks here, with the state that it was reading.
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.explicit.instance import Instance, Packed
from model.language.interpreter import Interpreter, Undefined, joined
from model.language.spec import Claim


def diagnose_init(at: Instance) -> Undefined | None:
    """The line of `init` that is undefined."""
    try:
        Interpreter(at.ranges).initial(at.spec)
    except Undefined as fault:
        return fault
    return None


def diagnose_action(at: Instance, state: Packed) -> Undefined | None:
    """The action, line and conjunct or write that is undefined in the state; None: none is."""
    try:
        for _ in Interpreter(at.ranges).steps(at.spec, at.unpack(state)):
            pass
    except Undefined as fault:
        return fault
    return None


def diagnose_claim(
    at: Instance, claims: Sequence[Claim], state: Packed, after: Packed | None = None
) -> Undefined | None:
    """The claim that is undefined in the state, or in the step from it to the one after."""
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
