"""Candidate lemmas are false in a state exactly if the interpreter says so."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance
from checkers.lemmas.clauses import LITERALS, TrueClauses
from checkers.lemmas.contexts import Context, contexts_of
from checkers.lemmas.pool import Candidate, Judge
from checkers.lemmas.reachable import reached, rows
from checkers.lemmas.text import lemma_of
from checkers.lemmas.vocabulary import Vocabulary
from model.language import Spec
from model.language.interpreter import Interpreter
from model.specs import find
from tests.checkers.lemmas.lease import Lease

TRANSACTIONS = find("transactions-abstract", None).make({"producers": 2, "partitions": 2})
SPECS = [Lease(), TRANSACTIONS, find("consumer-group-abstract", None).make({"epochs": 3})]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
def test_random_clauses_have_the_truth_that_the_interpreter_finds(spec: Spec) -> None:
    """The states are random. Most of them are unreachable, so many clauses are false."""
    at, drawn = Instance.of(spec), Random(1)
    states = [bytes(drawn.randrange(at.size(sort)) for _, sort in at.cells) for _ in range(3)]
    candidates = [
        Candidate(name=f"{n} {k}", context=context, literals=literals, cost=1)
        for n, context in enumerate(contexts(spec))
        for k in range(8)
        if len(literals := some_literals(context, drawn))
    ]
    judge, interpreter = Judge(at), Interpreter.of(spec)
    lemmas = {c.name: lemma_of(spec, c, ()).claim.formula for c in candidates}
    for state in states:
        read = at.unpack(state)
        false = {name for name, formula in lemmas.items() if not interpreter.holds(formula, read)}
        assert judge.false(candidates, rows([state])) == false
    every = judge.false(candidates, rows(states))
    assert 0 < len(every) < len(candidates)


def contexts(spec: Spec) -> list[Context]:
    sizes = {name: len(elements) for name, elements in Instance.of(spec).ranges.items()}
    return contexts_of(spec, Vocabulary.of(spec), sizes)


def some_literals(context: Context, drawn: Random) -> tuple[int, ...]:
    """Returns different literals; the context's variables need not all occur."""
    number = min(LITERALS, 2 * len(context.atoms))
    return tuple(drawn.sample(range(2 * len(context.atoms)), drawn.randint(1, number)))


def test_true_clauses_are_those_that_no_reachable_state_refutes() -> None:
    """For each clause of at most two literals, the test evaluates the clause in every reachable
    state.
    """
    spec = Lease()
    at = Instance.of(spec)
    program, interpreter, judge = Program(at), Interpreter.of(spec), Judge(at)
    packed = reached(program, program.initial())
    states = [at.unpack(state) for state in packed]
    context = next(c for c in contexts(spec) if len(c.variables) == 2 and not c.pairs)
    found = TrueClauses.of(context, judge.false_in(context, rows(packed)), 2, frozenset())
    clauses = {tuple(sorted(int(x) for x in clause if x >= 0)) for clause in found.clauses}

    def holds(*literals: int) -> bool:
        candidate = Candidate(name="", context=context, literals=literals, cost=1)
        formula = lemma_of(spec, candidate, ()).claim.formula
        return all(interpreter.holds(formula, state) for state in states)

    every = range(2 * len(context.atoms))
    single = {x for x in every if holds(x)}
    constant = {x // 2 for x in single}
    free = [x for x in every if x // 2 not in constant]
    uses = context.uses
    expected = {(x,) for x in single if len(uses[x // 2]) == 2} | {
        (a, b)
        for n, a in enumerate(free)
        for b in free[n + 1 :]
        if a // 2 != b // 2 and len(uses[a // 2] | uses[b // 2]) == 2 and holds(a, b)
    }
    assert clauses == expected
    assert len(expected) > 5


def test_longer_clauses_are_true_and_no_shorter_one_is() -> None:
    spec = TRANSACTIONS
    at = Instance.of(spec)
    program, judge = Program(at), Judge(at)
    states = rows(reached(program, program.initial(), most=2_000))
    drawn = Random(2)
    for context in contexts(spec)[2:6]:
        found = TrueClauses.of(context, judge.false_in(context, states), 3, frozenset())
        clauses = [tuple(int(x) for x in c if x >= 0) for c in found.clauses]
        some = drawn.sample(clauses, min(30, len(clauses)))
        true = [candidate(context, c) for c in some]
        shorter = [
            candidate(context, (*c[:k], *c[k + 1 :]))
            for c in some
            if len(c) > 1
            for k in range(len(c))
        ]
        assert judge.false(true, states) == set()
        assert judge.false(shorter, states) == {c.name for c in shorter}


def candidate(context: Context, literals: tuple[int, ...]) -> Candidate:
    return Candidate(name=str(literals), context=context, literals=literals, cost=1)


def test_the_states_of_a_small_spec_are_all_reached() -> None:
    program = Program(Instance.of(Lease()))
    few = reached(program, program.initial(), widest=5)
    assert len(few) < len(reached(program, program.initial())) == 49
    assert np.array_equal(rows(few), rows(reached(program, program.initial(), widest=5)))
