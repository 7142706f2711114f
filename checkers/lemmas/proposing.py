"""Proposes lemmas for the claims that a proof by induction leaves undecided.

The search at one finite scope, such as 3 replicas, has four steps:

1. Candidates are made from the formulas of the spec. Candidates that exploration refutes are left
   out.
2. The algorithm Houdini finds a few candidates that make the claims inductive at the scope.
3. The claims are proved with these lemmas, without bounds. A lemma that is not proved is never used
   again.
4. If a claim is still undecided, candidates are added, and the search continues with step 2. The
   new candidates are the cheapest clauses that exclude the states in which conditions failed in
   step 2.

If a claim remains undecided, the search starts again at a larger scope.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from checkers.explicit.actions import Program
from checkers.explicit.instance import Instance
from checkers.lemmas.pool import Candidate
from checkers.lemmas.reachable import MOST, reached
from checkers.lemmas.scoped import SearchAtScope
from checkers.lemmas.text import Lemma, lemma_of, with_lemmas
from checkers.symbolic.limits import Effort
from checkers.symbolic.proof import Proof
from checkers.symbolic.small_scope import larger
from model.language.scope import Scope, ranges_of
from model.language.spec import Claim, Spec

CANDIDATES: Final = 3_000
ROUNDS: Final = 12  # at one scope
PROOFS: Final = 8  # in one round
UNITS: Final = 20_000_000  # of Z3's work, for a condition at a finite scope
SAMPLE: Final = 4_000  # states of a larger scope

Why = Literal[
    "", "no candidates are left", "the budget is spent", "interrupted", "a claim is false"
]


class OutOfTime(Exception):
    """Raised when the time budget of the search is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The proposed lemmas, and the claims that are proved with these lemmas, without bounds."""

    lemmas: tuple[Lemma, ...] = ()
    proof: Proof | None = None  # of the spec with the lemmas; None if there are none
    proves: tuple[str, ...] = ()  # the targets that are proved
    missing: tuple[str, ...] = ()  # the targets that are not
    false: tuple[str, ...] = ()  # of these, the targets that are false in an explored state
    states: int = 0  # that were explored at the last scope
    true: int = 0  # clauses that no explored state refutes
    tried: int = 0  # candidates
    why: Why = ""  # the search ended; empty if every target is proved
    seconds: float = 0.0


@dataclass(slots=True)
class Proposer:
    """Searches for lemmas that prove the targets. A target is the name of a claim of the spec.

    `prove` tries to prove a spec for sorts of any size. `seconds` limits the time of the search,
    but it does not interrupt a call of `prove`.
    """

    spec: Spec
    targets: Sequence[str]
    prove: Callable[[Spec], Proof]
    candidates: int = CANDIDATES
    seconds: float | None = None
    seed: int = 0
    progress: Callable[[str], None] = lambda text: None
    poll: Callable[[], None] = lambda: None
    best: Proposal = field(default_factory=Proposal)
    _began: float = field(default_factory=time.monotonic)

    def run(self) -> Proposal:
        """Returns the best proposal that the search found.

        The search may end early, because the budget is spent or because the user pressed Ctrl-C. In
        this case, the result is the best proposal until that moment.
        """
        why: Why
        try:
            why = self._search()
        except OutOfTime:
            why = "the budget is spent"
        except KeyboardInterrupt:
            why = "interrupted"
        missing = tuple(name for name in self.targets if name not in self.best.proves)
        seconds = time.monotonic() - self._began
        return replace(self.best, missing=missing, why=why if missing else "", seconds=seconds)

    def _search(self) -> Why:
        claims = [c for c in self.spec.claims if c.name in self.targets]
        self._refute(self._false_at(self.spec.scope(), claims, MOST))
        if len(self.best.false) == len(self.targets):
            return "a claim is false"
        for scope in self._scopes():
            search = SearchAtScope(
                self.spec,
                scope,
                self.targets,
                most=self.candidates,
                effort=Effort(seed=self.seed, units=UNITS, poll=self._poll),
                progress=self.progress,
            )
            self._refute(search.false)
            false = self.best.false
            self.best = replace(self.best, states=len(search.states))
            if len(false) == len(self.targets):
                return "a claim is false"
            search.first()
            for _ in range(ROUNDS):
                self._prove_with(search, larger(scope))
                self.best = replace(self.best, true=search.true, tried=search.tried)
                if len(self.best.proves) + len(false) == len(self.targets) or not search.more():
                    break
            if len(self.best.proves) + len(false) == len(self.targets):
                return "a claim is false" if false else ""
        return "no candidates are left"

    def _scopes(self) -> Iterator[Scope]:
        """Yields two scopes: first the spec's own scope, but with at least two elements of each
        sort, and then a larger scope.
        """
        own = ranges_of(self.spec.scope())
        scope: Scope = {name: max(2, len(own[name])) for name in own if name != "Bool"}
        yield scope
        yield larger(scope)

    def _poll(self) -> None:
        self.poll()
        if self.seconds is not None and time.monotonic() - self._began > self.seconds:
            raise OutOfTime

    def _prove_with(self, search: SearchAtScope, beyond: Scope) -> None:
        """Tries to prove the targets with lemmas that suffice at the scope of `search`, and stores
        the best proof.

        The lemmas are first tested in states of the larger scope `beyond`. If one of the lemmas is
        false there or is not proved, other lemmas are tried, at most PROOFS times.
        """
        for _ in range(PROOFS):
            chosen = search.support(n for n in self.targets if n not in self.best.false)
            if not chosen:
                return
            lemmas = self._lemmas(chosen)
            false = self._false_at(beyond, [one.claim for one in lemmas], SAMPLE)
            if not false:
                extended = with_lemmas(self.spec, [one.claim for one in lemmas])
                self.progress(f"proof with {len(lemmas)} lemmas")
                proof = self.prove(extended)
                if proof.interrupted:
                    raise KeyboardInterrupt
                self._keep(proof, lemmas)
                false = {one.claim.name for one in lemmas} - proof.proved
            wrong = [c for c, one in zip(chosen, lemmas, strict=True) if one.claim.name in false]
            if not wrong:
                return
            search.ban(wrong)

    def _lemmas(self, chosen: Sequence[Candidate]) -> list[Lemma]:
        taken = {name for cls in type(self.spec).__mro__ for name in vars(cls)}
        lemmas: list[Lemma] = []
        for candidate in chosen:
            lemmas.append(lemma_of(self.spec, candidate, taken))
            taken.add(lemmas[-1].claim.name)
        return lemmas

    def _refute(self, false: Collection[str]) -> None:
        known = {*self.best.false, *false}
        self.best = replace(self.best, false=tuple(n for n in self.targets if n in known))

    def _false_at(self, scope: Scope, claims: Sequence[Claim], most: int) -> set[str]:
        """Returns the names of the claims that are false in at least one explored state of the
        scope. The exploration ends early if it has found `most` states.
        """
        program = Program(Instance.of(self.spec, scope))
        states = reached(program, program.initial(), most=most, seed=self.seed)
        judges = {claim.name: program.predicate(claim.formula) for claim in claims}
        return {name for name, holds in judges.items() if not all(map(holds, states))}

    def _keep(self, proof: Proof, lemmas: Sequence[Lemma]) -> None:
        proves = tuple(name for name in self.targets if name in proof.proved)
        if len(proves) > len(self.best.proves):
            kept = tuple(one for one in lemmas if one.claim.name in proof.proved)
            self.best = replace(self.best, proof=proof, lemmas=kept, proves=proves)
