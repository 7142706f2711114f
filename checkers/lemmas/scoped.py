"""The search for lemmas at one finite scope, such as 3 replicas. It uses explored states, a pool
of candidate lemmas, and the algorithm Houdini.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance
from checkers.lemmas.clauses import NONE, TrueClauses, false_clauses
from checkers.lemmas.contexts import Context, contexts_of
from checkers.lemmas.houdini import Houdini
from checkers.lemmas.pool import Candidate, Judge, stated
from checkers.lemmas.reachable import reached, rows
from checkers.lemmas.vocabulary import Vocabulary
from checkers.symbolic.limits import Effort
from checkers.symbolic.small_induction import SmallInduction
from model.language import terms as t
from model.language.scope import Scope
from model.language.spec import Spec

SHORT: Final = 2  # literals of a clause, at most
LONG: Final = 3  # and a premise
FOR_EACH_STATE: Final = 8  # candidates that exclude a state, in one round

Progress = Callable[[str], None]


class SearchAtScope:
    """Searches for lemmas that prove the targets. A target is the name of a claim of the spec.

    The search uses one scope: a number of elements for each type, such as 3 replicas.

    The pool of the search contains candidates: the claims of the spec, and clauses that may become
    lemmas.
    """

    def __init__(
        self,
        spec: Spec,
        scope: Scope,
        targets: Collection[str],
        *,
        most: int,
        effort: Effort,
        progress: Progress,
    ) -> None:
        self.spec, self.most, self.effort, self.progress = spec, most, effort, progress
        at = Instance.of(spec, scope)
        program = Program(at)
        progress("exploration")
        self.states = rows(reached(program, program.initial(), seed=effort.seed))
        self.judge = Judge(at)
        self.about = frozenset[str]().union(
            *(t.reads(c.formula) for c in spec.claims if c.name in targets)
        )
        claims = stated(spec)
        self.false = self.judge.false(claims, self.states)
        self.houdini = Houdini(program, self.judge, SmallInduction(spec, scope, effort), progress)
        self.pool: list[Candidate] = []
        self._add([c for c in claims if c.name not in self.false])
        sizes = {name: len(elements) for name, elements in at.ranges.items()}
        self._contexts = contexts_of(spec, Vocabulary.of(spec), sizes)
        self._used: set[tuple[Context, tuple[int, ...]]] = set()
        self._banned: set[str] = set()
        self._true: list[TrueClauses] = []
        self._longest = 0  # literals of the clauses, without a premise

    @property
    def tried(self) -> int:
        """The number of candidates in the pool that are not claims or lemmas of the spec."""
        return sum(not c.stated for c in self.pool)

    @property
    def true(self) -> int:
        """The number of clauses that no explored state refutes."""
        return sum(len(found.clauses) for found in self._true)

    def first(self) -> None:
        """Adds the cheapest clauses of at most two literals to the pool. They fill at most half
        of the pool.
        """
        self._enumerate(SHORT)
        every = ((cost, n, k) for n, k, cost in self._clauses())
        self._take((n, k) for _, n, k in islice(sorted(every), self.most // 2))

    def more(self) -> bool:
        """Adds clauses to the pool. For each state in which a condition of the induction failed,
        the cheapest clauses that are false in the state are added. A condition says that an action
        preserves a clause.

        Returns False if no clause is added: there is no such state, no such clause, or no room in
        the pool.
        """
        if not self.houdini.killers:
            return False
        if self._longest < LONG:
            self._enumerate(LONG)
        before = self.tried
        for state in list(self.houdini.killers):
            self.poll()
            self._take(islice(self._excluding(rows([state])), FOR_EACH_STATE))
        return self.tried > before

    def support(self, targets: Iterable[str]) -> list[Candidate] | None:
        """Returns a few candidates with which the targets are inductive, or None if no such
        candidates are found.

        If a target is not inductive even with all candidates, it is left out, and the search
        continues for the remaining targets.
        """
        self.houdini.begin(c for c in self.pool if c.name not in self._banned)
        wanted = [name for name in targets if name in self.houdini.alive]
        while wanted:
            chosen = self.houdini.support(wanted)
            if chosen is not None:
                return [c for name in chosen if not (c := self.houdini.alive[name]).stated]
            left = [name for name in wanted if name in self.houdini.alive]
            if left == wanted:
                return None  # Z3 has no answer
            wanted = left
        return None

    def ban(self, candidates: Iterable[Candidate]) -> None:
        """Excludes these candidates from all later results of `support`."""
        self._banned.update(c.name for c in candidates)

    def poll(self) -> None:
        self.effort.poll()

    # ---- clauses

    def _enumerate(self, longest: int) -> None:
        self._true, self._longest = [], longest
        for n, context in enumerate(self._contexts, 1):
            self.poll()
            self.progress(f"{n} of {len(self._contexts)} contexts, {self.true:,} true clauses")
            false = self.judge.false_in(context, self.states)
            self._true.append(TrueClauses.of(context, false, longest, self.about))

    def _clauses(self) -> Iterator[tuple[int, int, int]]:
        """Yields three numbers for each true clause: the number of its context, its own number
        within the context, and its cost.
        """
        for n, found in enumerate(self._true):
            for k, cost in enumerate(found.costs):
                yield n, k, cost

    def _excluding(self, state: np.ndarray) -> Iterator[tuple[int, int]]:
        """Yields the clauses that are false in `state` and that are not yet in the pool. The
        cheapest clauses come first.

        A clause is given by the number of its context and its own number within the context.
        """
        made: list[tuple[int, int, int]] = []
        for n, found in enumerate(self._true):
            if len(found.clauses):
                wrong = false_clauses(self.judge.false_in(found.context, state), found.clauses)
                made += [(found.costs[k], n, k) for k in map(int, np.flatnonzero(wrong))]
        return ((n, k) for _, n, k in sorted(made) if self._key(n, k) not in self._used)

    def _key(self, n: int, k: int) -> tuple[Context, tuple[int, ...]]:
        found = self._true[n]
        return found.context, tuple(int(x) for x in found.clauses[k] if x != NONE)

    def _take(self, places: Iterable[tuple[int, int]]) -> None:
        chosen: list[Candidate] = []
        for n, k in places:
            key = self._key(n, k)
            if key in self._used or len(self._used) >= self.most:
                continue
            self._used.add(key)
            context, literals = key
            name = f"candidate {len(self._used)}"
            cost = self._true[n].costs[k]
            chosen.append(Candidate(name=name, context=context, literals=literals, cost=cost))
        self._add(chosen)

    def _add(self, candidates: Sequence[Candidate]) -> None:
        self.pool += candidates
        self.houdini.induction.add(c.clause for c in candidates)
