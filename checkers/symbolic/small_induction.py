"""Checks at a finite scope, such as 3 replicas, which of many clauses are inductive.

A clause is true if, for all values of its variables, at least one of its literals is true. A set of
clauses is inductive if it satisfies this condition: if all clauses of the set are true before a
step, they are true after the step. Z3 finds a step that contradicts this condition, or it shows
that there is none at this scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import z3

from checkers.symbolic.interruptible import interruptible
from checkers.symbolic.limits import LARGEST_UNITS, Effort
from checkers.symbolic.propositions import Cells, Formula, Propositions
from model.language import terms as t
from model.language.scope import Scope
from model.language.spec import Action, Spec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clause:
    """A formula which states that, for all values of the variables, at least one of the literals is
    true.

    Two variables of one sort have different values.
    """

    name: str
    variables: tuple[t.Local, ...]
    literals: tuple[t.Node, ...]

    def reads(self) -> frozenset[str]:
        return frozenset[str]().union(*map(t.reads, self.literals))


class SmallInduction:
    """Decides with Z3 whether actions preserve clauses. Each clause has a name."""

    def __init__(self, spec: Spec, scope: Scope | None, effort: Effort) -> None:
        self.at = Propositions(spec, scope)
        self.effort = effort
        self._clauses: dict[str, Clause] = {}
        self._reads: dict[str, frozenset[str]] = {}
        self._before: list[Formula] = []
        self._solvers: dict[str, _Solver] = {}

    def add(self, clauses: Iterable[Clause]) -> None:
        for clause in clauses:
            self._clauses[clause.name] = clause
            self._reads[clause.name] = clause.reads()
            instances = self._instances(clause, self.at.before)
            self._before.append(z3.Implies(self._true(clause.name), self.at.all_of(instances)))

    def changed(self, action: Action, name: str) -> bool:
        """Returns True if the action changes a state variable that the clause `name` reads."""
        return bool(self._reads[name] & action.changes)

    def needed(
        self, action: Action, name: str, assumed: Iterable[str]
    ) -> frozenset[str] | bytes | None:
        """Returns the names of clauses in `assumed` that suffice to prove that the action preserves
        the clause `name`. The set is empty if the action changes no variable of the clause.

        If `assumed` as a whole does not suffice, returns a state with one byte for each cell. In
        this state the clauses in `assumed` are true, and a step of the action makes the clause
        `name` false. Returns None if Z3 has no answer within its limit.
        """
        if not self.changed(action, name):
            return frozenset()
        solver = self._solver(action)
        self._define(solver, action, name)
        answer = self._check(solver, [self._false(name), *map(self._true, assumed)])
        if answer == "sat":
            return self._state(solver)
        if answer == "unknown":
            return None
        return frozenset(str(x) for x in solver.z3.unsat_core()) - {str(self._false(name))}

    def follows(self, name: str, assumed: Iterable[str]) -> bool:
        """Returns True if Z3 shows that the clauses in `assumed` imply the clause `name` in
        every state of the scope.
        """
        solver = _Solver(self.at.context, self.effort)
        instances = self._instances(self._clauses[name], self.at.before)
        false = self.at.negated(self.at.all_of(instances))
        solver.z3.add(*self.at.exactly_one, *self._before, false)
        return self._check(solver, [self._true(n) for n in assumed]) == "unsat"

    def _check(self, solver: _Solver, assumptions: list[Formula]) -> str:
        self.effort.poll()
        return str(interruptible(lambda: solver.z3.check(*assumptions), self.at.context.interrupt))

    def _state(self, solver: _Solver) -> bytes:
        return self.at.packed(solver.z3.model())

    def _solver(self, action: Action) -> _Solver:
        """Returns the solver of the action. It has the guard of the action, and all clauses in
        the state before the step.
        """
        if action.name not in self._solvers:
            made = _Solver(self.at.context, self.effort)
            guard, _ = self.at.step(action)
            made.z3.add(*self.at.exactly_one, *guard)
            self._solvers[action.name] = made
        solver = self._solvers[action.name]
        solver.z3.add(*self._before[solver.clauses :])
        solver.clauses = len(self._clauses)
        return solver

    def _define(self, solver: _Solver, action: Action, name: str) -> None:
        """Adds a Boolean variable to the solver. In every model in which this variable is true, the
        clause `name` is false after the step.
        """
        if name not in solver.defined:
            _, after = self.at.step(action)
            false = map(self.at.negated, self._instances(self._clauses[name], after))
            solver.z3.add(z3.Implies(self._false(name), self.at.any_of(false)))
            solver.defined.add(name)

    def _true(self, name: str) -> Formula:
        return z3.Bool(name, self.at.context)

    def _false(self, name: str) -> Formula:
        return z3.Bool(f"{name} is false", self.at.context)

    def _instances(self, clause: Clause, state: Cells) -> list[Formula]:
        variables = clause.variables
        return [
            self.at.any_of(self.at.formula(x, env, state) for x in clause.literals)
            for env in self.at.bindings(variables, {})
            if not any(
                env[a.uid] == env[b.uid]
                for k, a in enumerate(variables)
                for b in variables[k + 1 :]
                if a.sort == b.sort
            )
        ]


class _Solver:
    """A SAT solver for one action. Formulas are added to it over time."""

    def __init__(self, context: z3.Context, effort: Effort) -> None:
        self.z3 = z3.SolverFor("QF_FD", ctx=context)
        units = min(max(1, effort.units), LARGEST_UNITS)
        self.z3.set(rlimit=units, random_seed=effort.seed, ctrl_c=False)
        self.clauses = 0  # that it has before the step
        self.defined = set[str]()  # clauses that it has after the step
