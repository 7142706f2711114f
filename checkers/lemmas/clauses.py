"""Finds the clauses of a context that are true in all explored states.

A context is a choice of quantified variables, with the atoms about these variables. A literal is an
atom or the negation of an atom. A clause is a disjunction of at most three literals. In a clause of
three literals, at most one literal has a quantifier or is a comparison that the spec does not
contain. A clause may also have a premise, which states that two elements have the same value: for
example, `s.of[x] == s.of[y]`. The negation of the premise is then a fourth literal.

Only the shortest clauses are returned: a clause is left out if some of its literals already form a
true clause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np

from checkers.lemmas.contexts import SIMPLE, Context
from checkers.lemmas.truths import Bits
from model.language import terms as t

Clauses = np.ndarray[Any, Any]  # of int16: a row of literals for each clause, padded with NONE
LITERALS: Final = 4  # with a premise about twins
NONE: Final = -1  # a literal that is never true; its bits are the last row
SAMPLE: Final = 64  # words of the first, quick test
COMMON: Final = 100  # literals from which clauses of three literals are made, at most
STRANGE: Final = 2  # the cost of a clause without a variable of the failed claims
CHUNK: Final = 1 << 22  # words of bits at once
MOST: Final = 50_000  # clauses of one context: the first that are found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrueClauses:
    """The clauses of a context that are true in all explored states, and the cost of each
    clause. The clauses with the lowest costs are tried first.
    """

    context: Context
    clauses: Clauses
    costs: Sequence[int]

    @classmethod
    def of(cls, context: Context, false: Bits, longest: int, about: frozenset[str]) -> TrueClauses:
        """Returns the clauses that are true in every row, the shortest first, and at most MOST of
        them. A clause has at most `longest` literals, or one more if it has a premise.

        A row is a state, together with a value for each variable of the context. `false` has a
        bitset for each literal: the rows in which the literal is false. `about` has the names of
        the state variables in the claims that could not be proved. A clause without any of these
        state variables costs more.
        """
        every = _Enumeration(context, false[:NONE]).clauses(longest)
        found = list(islice(every, MOST))
        clauses = np.full((len(found), LITERALS), NONE, dtype=np.int16)
        for k, clause in enumerate(found):
            clauses[k, : len(clause)] = clause
        strange = [not (t.reads(atom.node) & about) for atom in context.atoms]
        costs = [
            2 * len(clause)
            + sum(context.atoms[x // 2].cost for x in clause)
            + len(context.variables)
            + STRANGE * all(strange[x // 2] for x in clause)
            for clause in found
        ]
        return cls(context=context, clauses=clauses, costs=costs)


def false_clauses(false: Bits, clauses: Clauses) -> Any:
    """Returns a flag for each clause: True if all literals of the clause are false in some row (a
    state, together with a value for each variable).
    """
    step = max(1, CHUNK // max(1, false.shape[1]))
    found: list[Any] = [np.zeros(0, dtype=np.bool_)]
    for start in range(0, len(clauses), step):
        some = clauses[start : start + step]
        rows = false[some[:, 0]]
        for k in range(1, LITERALS):
            rows &= false[some[:, k]]
        found.append(rows.any(axis=1))
    return np.concatenate(found)


class _Enumeration:
    def __init__(self, context: Context, false: Bits) -> None:
        self.context, self.false = context, false
        self.never_false = ~false.any(axis=1)
        constant: Any = self.never_false.reshape(-1, 2).any(axis=1)
        alive = [x for x in range(len(false)) if not constant[x // 2]]
        self.alive = np.array(sorted(alive, key=self._rank), dtype=np.intp)
        self.true_pairs = np.zeros((len(false), len(false)), dtype=np.bool_)

    def _rank(self, literal: int) -> tuple[int, int]:
        return self.context.atoms[literal // 2].cost, literal

    def clauses(self, longest: int) -> Iterator[tuple[int, ...]]:
        """Yields the clauses that are true in every explored state, and in which each variable of
        the context occurs. A clause is a tuple of literals; clauses with fewer literals come first.
        """
        yield from filter(self._covers, ((int(x),) for x in np.flatnonzero(self.never_false)))
        for n, i in enumerate(self.alive):
            rest = self.alive[n + 1 :]
            for j in rest[~self._meet(self.false[i], rest)]:
                self.true_pairs[i, j] = self.true_pairs[j, i] = True
                if i // 2 != j // 2 and self._covers((int(i), int(j))):
                    yield int(i), int(j)
        if longest > 2:
            whole = ~np.zeros(self.false.shape[1], dtype=np.uint64)
            yield from filter(self._covers, self._of_three(whole, self.true_pairs, ()))
            for twin in self.context.twins:
                yield from filter(self._covers, self._with_premise(2 * twin + 1))

    def _covers(self, clause: tuple[int, ...]) -> bool:
        used = frozenset[t.Local]().union(*(self.context.uses[x // 2] for x in clause))
        return len(used) == len(self.context.variables)

    def _meet(self, one: Any, others: Any) -> Any:
        """Returns a flag for each literal in `others`: True if the literal is false in at least
        one row of the bitset `one`.
        """
        found = (self.false[others][:, :SAMPLE] & one[:SAMPLE]).any(axis=1)
        if self.false.shape[1] > SAMPLE:
            rest = np.flatnonzero(~found)
            found[rest] = (self.false[others[rest]] & one).any(axis=1)
        return found

    def _of_three(
        self, within: Any, pairs: Any, premise: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        """Yields clauses that consist of `premise` and three literals. In all rows of the bitset
        `within`, at least one of the three literals is true.

        A clause is left out if two of its literals already form a true clause, according to
        `pairs`. If there is a premise, a clause that is true without the premise is left out, too.
        """
        simple = [x for x in self.alive if self.context.atoms[x // 2].cost == SIMPLE][:COMMON]
        for n, i in enumerate(simple):
            for m, j in enumerate(simple[n + 1 :], n + 1):
                if pairs[i, j] or i // 2 == j // 2:
                    continue
                rest = self.alive[m + 1 :]
                rest = rest[~pairs[i, rest] & ~pairs[j, rest]]
                both = self.false[i] & self.false[j]
                true = rest[~self._meet(within & both, rest)]
                if premise and len(true):
                    true = true[self._meet(both, true)]  # not true without the premise
                for k in true:
                    yield (*premise, int(i), int(j), int(k))

    def _with_premise(self, premise: int) -> Iterator[tuple[int, ...]]:
        within = self.false[premise]
        pairs = self.true_pairs | self.true_pairs[premise]
        pairs |= self.true_pairs[premise][:, None]
        atom = premise // 2
        pairs[[2 * atom, 2 * atom + 1]] = pairs[:, [2 * atom, 2 * atom + 1]] = True
        for n, i in enumerate(self.alive):
            rest = self.alive[n + 1 :]
            rest = rest[~pairs[i, rest]]
            true = rest[~self._meet(within & self.false[i], rest)]
            pairs[i, true] = pairs[true, i] = True  # a clause of three literals
        yield from self._of_three(within, pairs, (premise,))
