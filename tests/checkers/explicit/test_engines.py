"""A small search runs in plain Python; a search of many states or many terms is compiled.

Every engine has the same initial states.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from checkers.explicit.engines import FEW_TERMS, terms_of_actions
from checkers.explicit.exploration import Budget, EngineName, Task
from checkers.explicit.finite_terms import FiniteTerms
from checkers.explicit.instance import Instance
from checkers.explicit.search import explore
from model.language import Ordered, Scope, Spec, action, when
from model.language import terms as t
from model.language.interpreter import Interpreter
from model.reassignment.versions import ElrOfReplicas
from model.replication.versions import Kip101
from tests.checkers.explicit.random_programs import SMALL, terms

TEN_STATES = Budget(states=10)
AT = Instance.of(SMALL)


def test_few_states_with_few_terms_are_explored_in_plain_python() -> None:
    spec = Kip101()
    assert terms_of_actions(Task(spec=spec, claims=())) < FEW_TERMS
    assert explore(spec, budget=TEN_STATES).engine == "python"


def test_few_states_with_many_terms_are_compiled() -> None:
    spec = ElrOfReplicas()
    assert terms_of_actions(Task(spec=spec, claims=())) > FEW_TERMS
    assert explore(spec, budget=TEN_STATES).engine == "compiled"


class Level(Ordered):
    """The type of a variable in a small spec."""


class BeginsAboveTheLeast(Spec):
    """The level begins above the least level, and never changes."""

    level: Level

    def scope(s) -> Scope:
        return {Level: 3}

    def init(s, level: Level) -> None:
        when(Level.least() < level)
        s.level = level

    @action
    def stay(s) -> None:
        s.level = s.level


@pytest.mark.parametrize("engine", ["compiled", "numpy", "python"])
def test_a_guard_of_init_excludes_initial_states(engine: EngineName) -> None:
    spec = BeginsAboveTheLeast()
    assert [state["level", ()] for state in Interpreter.of(spec).initial(spec)] == [1, 2]
    assert explore(spec, engine=engine).distinct == 2


@given(terms(t.BOOL))
def test_the_terms_of_a_formula_are_counted_as_if_quantifiers_were_written_out(
    formula: t.Node,
) -> None:
    assert FiniteTerms(AT).unrolled(formula) == written_out(formula)


def written_out(n: t.Node) -> int:
    """Counts the terms one by one, as an oracle; a quantifier's body counts once for each value."""
    binders = (n.binder,) if isinstance(n, t.Extreme) else getattr(n, "binders", ())
    values = FiniteTerms(AT).bindings(binders, {})
    return sum(1 + sum(written_out(inner) for inner in t.children(n)) for _ in values)
