"""The candidates of a search for lemmas: clauses that may become lemmas, and the claims of the
spec. A candidate that is false in a reached state is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from checkers.explicit.instance import Instance
from checkers.lemmas.clauses import LITERALS, NONE, false_clauses
from checkers.lemmas.contexts import Atom, Context
from checkers.lemmas.reachable import States
from checkers.lemmas.truths import Bits, Truths
from checkers.symbolic.small_induction import Clause
from model.language.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A clause that may become a lemma. It is about the variables of a context, which is a choice
    of quantified variables. The candidates with the lowest costs are tried first.

    A claim or lemma of the spec is a candidate, too. Its context has no variables, and its cost
    is 0.
    """

    name: str
    context: Context
    literals: tuple[int, ...]
    cost: int

    @property
    def stated(self) -> bool:
        """True for a claim or lemma that the spec already contains."""
        return self.cost == 0

    @property
    def clause(self) -> Clause:
        return Clause(
            name=self.name,
            variables=self.context.variables,
            literals=tuple(self.context.literals[x] for x in self.literals),
        )


def stated(spec: Spec) -> list[Candidate]:
    """Returns the claims and lemmas of the spec as candidates."""
    atoms = tuple(Atom(node=c.formula, cost=0, origin=c.name) for c in spec.claims)
    whole = Context(variables=(), atoms=atoms)
    return [
        Candidate(name=c.name, context=whole, literals=(2 * k,), cost=0)
        for k, c in enumerate(spec.claims)
    ]


@dataclass(slots=True)
class Judge:
    """Finds the candidates that are false in at least one of many states. NumPy evaluates all
    states together.
    """

    at: Instance
    _truths: dict[Context, Truths] = field(default_factory=dict)

    def false_in(self, context: Context, states: States) -> Bits:
        """Returns a bitset for each literal of the context: the rows in which the literal is false.
        A row is a state, together with a value for each variable of the context. The last bitset
        contains all rows.
        """
        if context not in self._truths:
            self._truths[context] = Truths.of(context, self.at)
        return self._truths[context].false_in(states)

    def false(self, candidates: Iterable[Candidate], states: States) -> set[str]:
        """Returns the names of the candidates that are false in at least one of the states."""
        found: set[str] = set()
        for context, some in _by_context(candidates).items():
            clauses = np.full((len(some), LITERALS), NONE, dtype=np.int16)
            for k, one in enumerate(some):
                clauses[k, : len(one.literals)] = one.literals
            wrong = false_clauses(self.false_in(context, states), clauses)
            found.update(some[int(k)].name for k in np.flatnonzero(wrong))
        return found


def _by_context(candidates: Iterable[Candidate]) -> Mapping[Context, Sequence[Candidate]]:
    made: dict[Context, list[Candidate]] = {}
    for one in candidates:
        made.setdefault(one.context, []).append(one)
    return made
