"""Tries to prove that every claim of a spec is true in every reachable state, at every scope.

A scope is the number of replicas, records, epochs and so on. Each condition of the induction has an
action and a claim. It states that the claim is true after the action if all claims are true before
the action. If a condition fails, its claim is dropped. All claims whose proofs need this claim are
dropped, too (`checkers.symbolic.inductive_subset`).

A refuted condition has a counterexample: a state, and a step from this state after which the claim
is false. Only exploration can decide whether the state is reachable, so the verdict on the claim is
undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from checkers.symbolic.condition import Condition, Progress
from checkers.symbolic.induction import INIT, Goal, Induction, Using, framed, require_known
from checkers.symbolic.inductive_subset import InductiveSubset, inductive_subset
from checkers.symbolic.limits import LIMIT_MS, UNITS, Effort
from checkers.symbolic.portfolio import AtScopes, Outcome, decide
from checkers.symbolic.proof_cache import ConditionKeys, ProofCache
from checkers.symbolic.small_scope import SmallScope, scopes_of
from checkers.symbolic.sorts import Declined, Sorts, Unbounded
from checkers.symbolic.states import Step
from checkers.symbolic.translation import Translation
from checkers.symbolic.vacuity import UNCHECKED, Vacuity, vacuity_of
from checkers.verdicts import Verdict
from model.language.scope import Scope
from model.language.spec import Action, Claim, Spec, title_of

FRAME: Final = "frame"
FOLLOWS: Final = "it follows, "
DECLINED: Final = "declined: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    claim: str
    summary: str
    lemma: bool
    verdict: Verdict  # holds or undecided: a failed proof is no violation
    conditions: tuple[Condition, ...]

    @property
    def failed(self) -> tuple[Condition, ...]:
        return tuple(c for c in self.conditions if c.verdict != "proved")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    spec: str
    seed: int
    claims: tuple[Claim, ...]  # claims whose conditions were tried
    left_out: tuple[str, ...]  # claims that `only` excluded
    conditions: tuple[Condition, ...]
    vacuity: Vacuity
    interrupted: bool
    assumptions: tuple[str, ...] = ()  # axioms that the proof uses, in words
    subset: InductiveSubset | None = None  # tried if a condition failed
    subset_vacuity: Vacuity = UNCHECKED  # of the claims in the subset

    @property
    def failed(self) -> tuple[Condition, ...]:
        """The conditions that failed. Refuted conditions come before unknown conditions."""
        return tuple(c for v in ("refuted", "unknown") for c in self.conditions if c.verdict == v)

    @property
    def seconds(self) -> float:
        again = self.subset.decided_again if self.subset is not None else ()
        return sum(c.seconds for c in (*self.conditions, *again))

    @property
    def by_frame(self) -> int:
        """The number of conditions that need no solver, because their action changes no variable of
        their claim.
        """
        return sum(c.how == FRAME for c in self.conditions)

    @property
    def by_consequence(self) -> int:
        """The number of proof conditions that need no query of the solver, because their claim
        follows from other claims in the same state.
        """
        following = [c.claim for c in self.conditions if c.how.startswith(FOLLOWS)]
        return len(following) - len(set(following))

    @property
    def from_cache(self) -> int:
        """The number of conditions that an earlier run proved."""
        return sum(c.from_cache for c in self.conditions)

    @property
    def reason(self) -> str:
        """The reason why the proof failed. The text is empty if the proof succeeded."""
        if not self.claims:
            return "the spec has no claims"
        if self.interrupted:
            return "interrupted"
        declined = [c.how for c in self.failed if c.how.startswith(DECLINED)]
        if declined:
            return declined[0]
        if self.failed:
            at = ", ".join(dict.fromkeys(f"{c.action} ({c.verdict})" for c in self.failed))
            return f"{len(self.failed)} of {len(self.conditions)} conditions not proved, at {at}"
        if self.left_out:
            return f"the conditions of {', '.join(self.left_out)} were left out, but are assumed"
        return self.vacuity.reason

    @property
    def holds(self) -> bool:
        """True if the proof shows that every claim is true in every reachable state, at every
        scope.
        """
        return not self.reason

    @property
    def proved(self) -> frozenset[str]:
        """The claims that the proof shows to be true in every reachable state.

        The set may be empty although some claims could be proved. There are three such cases: the
        proof was interrupted, the proof may be vacuous, or `prove` was called for some claims only.
        """
        if self.holds:
            return frozenset(claim.name for claim in self.claims)
        if self.subset is None or self.interrupted or self.subset_vacuity.reason:
            return frozenset()
        return frozenset(self.subset.kept)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The claims that the proof gave up. They are not proved, and no proved claim assumes them.

        The tuple is empty if all claims are proved. It is also empty if no claim is proved, because
        then no claim was given up to prove another one.
        """
        if self.holds or self.subset is None or not self.proved:
            return ()
        return tuple(d.claim for d in self.subset.dropped)

    def why_undecided(self, name: str) -> str:
        """Returns the reason why the claim is not proved. The text is empty if the claim is
        proved.
        """
        if name in self.proved:
            return ""
        dropped = self.subset.dropped_claim(name) if self.subset is not None else None
        if dropped is not None and dropped.without:
            return str(dropped)
        if self.subset is not None and name in self.subset.kept and not self.interrupted:
            return self.subset_vacuity.reason
        return self.reason

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The result for each claim. Invariants come before lemmas."""
        return tuple(
            Summary(
                claim=claim.name,
                summary=claim.summary,
                lemma=claim.lemma,
                verdict="holds" if claim.name in self.proved else "undecided",
                conditions=tuple(c for c in self.conditions if c.claim == claim.name),
            )
            for claim in self.claims
        )

    def __str__(self) -> str:
        follow = f"{self.by_consequence} by consequence, " if self.by_consequence else ""
        kept = f"{self.from_cache} from the cache, " if self.from_cache else ""
        dropped = ", ".join(self.dropped)
        rest = f"; the other claims are proved without {dropped}" if dropped else ""
        return (
            f"{self.spec}: {len(self.conditions)} conditions, {self.by_frame} by frame, "
            f"{follow}{kept}{len(self.failed)} not proved, {self.seconds:.1f} s in Z3: "
            f"{self.reason or 'proved'}{rest}"
        )


def prove(
    spec: Spec,
    *,
    seed: int = 0,
    units: int = UNITS,
    limit_ms: int = LIMIT_MS,
    progress: Progress | None = None,
    poll: Callable[[], None] = lambda: None,
    only: Sequence[str] = (),
    using: Using | None = None,
    scope: Scope | None = None,
    cache: ProofCache | None = None,
) -> Proof:
    """Tries to prove by induction that every claim of the spec is true in every reachable state.

    A condition of the proof is a pair: an action, and a claim that the action must preserve.

    - `units` limits Z3's work for one condition. It counts Z3's own units, so it has the same
      effect on every machine.
    - `limit_ms` limits the wall time for one condition, as a last resort.
    - `poll` is called before each query; it may raise KeyboardInterrupt.
    - `only` names the claims to prove. If it is empty, all claims are proved. A condition assumes
      all claims in both cases.
    - `using` maps an action and a claim to the claims that suffice to prove this condition. If it
      is None, the spec's own table is used.
    - `scope` replaces the spec's numbers of replicas, offsets and so on. Only counterexamples and
      vacuity checks use these numbers.
    - `cache` has the conditions that earlier runs proved. The conditions that this run proves are
      added.

    If the user presses Ctrl-C, the remaining conditions are unknown. Raises SpecError for an
    unknown action or claim.
    """
    for name in only:
        require_known(spec, "claim", name, [c.name for c in spec.claims])
    claims = tuple(c for c in spec.claims if not only or c.name in only)
    effort = Effort(seed=seed, units=units, limit_ms=limit_ms, poll=poll)
    prover = _Prover(spec, using, scope, cache, effort)
    planned = [(action, claim) for claim in claims for action in (spec.initial, *spec.actions)]
    conditions: list[Condition] = []
    vacuity, interrupted = UNCHECKED, False
    subset, subset_vacuity = None, UNCHECKED
    try:
        for action, claim in planned:
            conditions.append(Condition.of(action, claim, prover.outcome(action, claim)))
            if progress is not None:
                progress(conditions[-1], len(conditions), len(planned))
        vacuity = vacuity_of(spec, scope, seed=seed, units=units, limit_ms=limit_ms)
        if not only and any(c.verdict != "proved" for c in conditions):
            subset = inductive_subset(claims, conditions, prover.again, progress)
            without = {d.claim for d in subset.dropped}
            if subset.kept:
                subset_vacuity = vacuity_of(
                    spec, scope, seed=seed, units=units, limit_ms=limit_ms, without=without
                )
    except KeyboardInterrupt:
        interrupted = True
        untried = Outcome(verdict="unknown", how="interrupted")
        conditions += [Condition.of(a, c, untried) for a, c in planned[len(conditions) :]]
    return Proof(
        spec=title_of(spec),
        seed=seed,
        claims=claims,
        left_out=tuple(c.name for c in spec.claims if c not in claims),
        conditions=tuple(conditions),
        vacuity=vacuity,
        interrupted=interrupted,
        assumptions=tuple(prover.sorts.assumptions),
        subset=subset,
        subset_vacuity=subset_vacuity,
    )


class _Prover:
    def __init__(
        self,
        spec: Spec,
        using: Using | None,
        scope: Scope | None,
        cache: ProofCache | None,
        effort: Effort,
    ) -> None:
        self.sorts = Unbounded()
        self.induction = Induction(spec, Step(spec, Translation(self.sorts)), using)
        self.small = [SmallScope(spec, tried) for tried in scopes_of(spec, scope)]
        self.effort = effort
        self.cache, self.keys = cache, ConditionKeys(self.sorts, effort)
        self._consequences: dict[str, Outcome] = {}

    def again(self, condition: Condition, without: frozenset[str]) -> Condition:
        spec = self.induction.spec
        action = next(a for a in (spec.initial, *spec.actions) if a.name == condition.action)
        claim = next(c for c in spec.claims if c.name == condition.claim)
        return Condition.of(action, claim, self.outcome(action, claim, without))

    def outcome(self, action: Action, claim: Claim, without: Set[str] = frozenset()) -> Outcome:
        if self.induction.follows(claim, without):
            return self._consequence(claim)
        if action.name != INIT and framed(action, claim):
            return Outcome(verdict="proved", how=FRAME)
        try:
            goal = self.induction.goal(action, claim, without)
        except Declined as reason:
            return Outcome(verdict="unknown", how=f"{DECLINED}{reason}")

        def at_scopes() -> Iterator[tuple[Goal, Sorts]]:
            for small in self.small:
                yield small.induction.goal(action, claim, without), small.sorts

        return self._decided(f"{action.name} preserves {claim.name}", goal, at_scopes)

    def _consequence(self, claim: Claim) -> Outcome:
        if claim.name in self._consequences:
            return replace(self._consequences[claim.name], seconds=0.0, from_cache=False)
        try:
            goal = self.induction.consequence(claim)
        except Declined as reason:
            return Outcome(verdict="unknown", how=f"{DECLINED}{reason}")

        def at_scopes() -> Iterator[tuple[Goal, Sorts]]:
            for small in self.small:
                yield small.induction.consequence(claim), small.sorts

        found = self._decided(f"{claim.name} follows", goal, at_scopes)
        self._consequences[claim.name] = replace(found, how=f"{FOLLOWS}{found.how}")
        return self._consequences[claim.name]

    def _decided(self, name: str, goal: Goal, at_scopes: AtScopes) -> Outcome:
        if self.cache is None:
            return decide(goal, self.sorts, at_scopes, self.effort)
        kept = self.cache.find(self.keys.key(name, goal))
        if kept is not None:
            return kept
        found = decide(goal, self.sorts, at_scopes, self.effort)
        # A key of its own: an attempt may have added axioms, on which the proof then rests.
        self.cache.keep(self.keys.key(name, goal), found)
        return found
