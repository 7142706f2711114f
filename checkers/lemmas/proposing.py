"""Proposes lemmas for the claims that a proof by induction leaves undecided.

1. Candidates are made of the spec's own words. Those that exploration refutes are left out.
2. Houdini finds few of them that make the claims inductive at a finite scope.
3. For each state that shows a failed condition, the cheapest clauses that exclude it are added.
4. The claims are proved with the lemmas, without bounds. A lemma that fails is never used again.

If no lemmas are found, the search starts again at a larger scope.
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
    """Raised when the budget is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Lemmas, and the claims that are proved with them, without bounds."""

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
    """A search for lemmas that prove the targets, which are claims of the spec.

    `prove` tries to prove a spec without bounds. `seconds` limits the search, but no single proof.
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
        """Returns the best proposal when the search ends, also after Ctrl-C."""
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
        """Yields the spec's scope with at least two elements of each sort, then a larger one."""
        own = ranges_of(self.spec.scope())
        scope: Scope = {name: max(2, len(own[name])) for name in own if name != "Bool"}
        yield scope
        yield larger(scope)

    def _poll(self) -> None:
        self.poll()
        if self.seconds is not None and time.monotonic() - self._began > self.seconds:
            raise OutOfTime

    def _prove_with(self, search: SearchAtScope, beyond: Scope) -> None:
        """Proves the targets with the lemmas that suffice at the scope, and keeps the best proof.

        If one of these lemmas fails, the next ones are tried.
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
        """Returns the names of the claims that are false in an explored state of the scope."""
        program = Program(Instance.of(self.spec, scope))
        states = reached(program, program.initial(), most=most, seed=self.seed)
        judges = {claim.name: program.predicate(claim.formula) for claim in claims}
        return {name for name, holds in judges.items() if not all(map(holds, states))}

    def _keep(self, proof: Proof, lemmas: Sequence[Lemma]) -> None:
        proves = tuple(name for name in self.targets if name in proof.proved)
        if len(proves) > len(self.best.proves):
            kept = tuple(one for one in lemmas if one.claim.name in proof.proved)
            self.best = replace(self.best, proof=proof, lemmas=kept, proves=proves)
