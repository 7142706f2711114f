"""At a finite scope, Z3 finds a step that breaks a clause exactly if the interpreter finds such a
step.
"""

from __future__ import annotations

from itertools import product

import pytest

from checkers.explicit.instance import Instance
from checkers.lemmas.pool import stated
from checkers.symbolic.limits import Effort
from checkers.symbolic.small_induction import SmallInduction
from model.language import Spec
from model.language.interpreter import Interpreter, State
from model.language.spec import Action
from model.specs import find
from tests.checkers.lemmas.lease import GrantsTwice, Lease, WithAnInductiveLemma

SCOPE = {"Client": 2, "Term": 2}


@pytest.mark.parametrize("cls", [Lease, GrantsTwice, WithAnInductiveLemma])
def test_a_claim_is_preserved_exactly_if_no_step_of_the_interpreter_breaks_it(
    cls: type[Spec],
) -> None:
    """Every state of the scope is tried, also the unreachable ones."""
    spec = cls()
    induction = SmallInduction(spec, SCOPE, Effort())
    induction.add(c.clause for c in stated(spec))
    names = [c.name for c in spec.claims]
    interpreter, at = Interpreter.of(spec, SCOPE), Instance.of(spec, SCOPE)
    states = [at.unpack(bytes(s)) for s in product(*(range(at.size(x)) for _, x in at.cells))]
    good = [s for s in states if all(interpreter.holds(c.formula, s) for c in spec.claims)]
    for action, claim in product(spec.actions, spec.claims):
        found = induction.needed(action, claim.name, names)
        breaks = any(
            not interpreter.holds(claim.formula, after)
            for state in good
            for after in successors(interpreter, action, state)
        )
        assert isinstance(found, bytes) == breaks
        if isinstance(found, bytes):
            assert at.unpack(found) in good
            after = successors(interpreter, action, at.unpack(found))
            assert not all(interpreter.holds(claim.formula, s) for s in after)


def successors(interpreter: Interpreter, action: Action, state: State) -> list[State]:
    after = (interpreter.step(action, state, values) for values in interpreter.calls(action))
    return [s for s in after if s is not None]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("quorum-abstract", None),
        ("reassignment-abstract", None),
        ("reassignment-abstract", "changed-min-isr"),
    ],
)
def test_majorities_and_large_sets_are_counted(name: str, version: str | None) -> None:
    """The claims of these specs speak of majorities or large sets. At a small scope they are
    inductive with their lemmas, and not without them.
    """
    spec = find(name, version).make()
    induction = SmallInduction(spec, None, Effort(units=2_000_000))
    induction.add(c.clause for c in stated(spec))
    names = [c.name for c in spec.claims]
    claim = next(c.name for c in spec.claims if not c.lemma)
    actions = [a for a in spec.actions if induction.changed(a, claim)]
    assert all(isinstance(induction.needed(a, claim, names), frozenset) for a in actions)
    assert any(isinstance(induction.needed(a, claim, [claim]), bytes) for a in actions)
