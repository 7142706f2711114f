"""Houdini drops all candidates that are not inductive. Of the others, it keeps those that a proof
needs, and few more.
"""

from __future__ import annotations

import pytest

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance
from checkers.lemmas.contexts import Atom, Context
from checkers.lemmas.houdini import Houdini
from checkers.lemmas.pool import Candidate, Judge, stated
from checkers.lemmas.text import traced
from checkers.symbolic import EnginesDisagree
from checkers.symbolic.limits import Effort
from checkers.symbolic.small_induction import SmallInduction
from model.language import Spec
from tests.checkers.lemmas.lease import GrantsTwice, Lease

ACCEPTED = "forall(implies(s.accepted[t][c], s.holder[t] == c) for t in Term for c in Client)"
BELIEVED = "forall(implies(s.believes[c][t], s.holder[t] == c) for t in Term for c in Client)"
HELD = "forall(implies(s.holder[t] == c, t <= s.now) for t in Term for c in Client)"
NOBODY_HOLDS = "forall(s.holder[t] != c for t in Term for c in Client)"  # only initially true
TRUE = "forall(any_of(s.now <= t, t <= s.now) for t in Term)"  # inductive, and of no use


def houdini(spec: Spec, *texts: str) -> Houdini:
    """Returns a `Houdini` whose candidates are the claims of the spec, and the formulas `texts`,
    which are named 0, 1 and so on.
    """
    atoms = tuple(Atom(node=traced(spec, text), cost=1, origin="a test") for text in texts)
    context = Context(variables=(), atoms=atoms)
    pool = [
        *stated(spec),
        *(
            Candidate(name=f"{k}", context=context, literals=(2 * k,), cost=k + 1)
            for k in range(len(texts))
        ),
    ]
    at = Instance.of(spec)
    induction = SmallInduction(spec, None, Effort())
    induction.add(c.clause for c in pool)
    made = Houdini(Program(at), Judge(at), induction)
    made.begin(pool)
    return made


def test_the_lemmas_that_a_claim_needs_are_chosen() -> None:
    chosen = houdini(Lease(), TRUE, ACCEPTED, BELIEVED, HELD).support(["one_writer"])
    assert chosen == ["one_writer", "1", "2", "3"]


def test_a_candidate_that_is_true_initially_and_not_inductive_is_dropped() -> None:
    made = houdini(Lease(), NOBODY_HOLDS, ACCEPTED, BELIEVED, HELD)
    assert made.support(["0"]) is None
    assert "0" not in made.alive
    assert made.killers
    assert made.support(["one_writer"]) == ["one_writer", "1", "2", "3"]


def test_a_lemma_whose_own_lemma_is_missing_is_dropped_with_the_claim() -> None:
    made = houdini(Lease(), ACCEPTED, BELIEVED)
    assert made.support(["one_writer"]) is None
    assert "one_writer" not in made.alive


def test_the_claim_of_a_broken_spec_is_dropped() -> None:
    made = houdini(GrantsTwice(), ACCEPTED, BELIEVED, HELD, NOBODY_HOLDS, TRUE)
    assert made.support(["one_writer"]) is None
    assert list(made.alive) == ["2", "4"]


def test_a_state_that_only_z3_finds_is_an_error_of_urteil(monkeypatch: pytest.MonkeyPatch) -> None:
    made = houdini(Lease())
    initial = made.program.initial()[0]
    monkeypatch.setattr(SmallInduction, "needed", lambda *_: initial)
    monkeypatch.setattr("checkers.lemmas.houdini.reached", lambda program, starts, **_: starts)
    with pytest.raises(EnginesDisagree, match="breaks one_writer in Z3 only"):
        made.support(["one_writer"])
