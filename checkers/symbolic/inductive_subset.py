"""Finds the largest inductive set of claims, if a proof by induction fails for some claims.

If a condition (an action preserves a claim) fails, its claim is *dropped*. The proofs of other
conditions may have assumed the dropped claim. These conditions are decided again without the
dropped claim. This goes on until no further claim is dropped. The remaining claims are true in
every reachable state.

The search ends early if all remaining claims are lemmas.

Source: Flanagan and Leino, Houdini, an Annotation Assistant for ESC/Java (FME 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from checkers.symbolic.condition import Condition, Progress
from model.language.spec import Claim

# decides the condition of an action and a claim again, without the named claims as assumptions
Again = Callable[[Condition, frozenset[str]], Condition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A dropped claim, and the first of its conditions that failed.

    `without` names the claims that were dropped earlier. The proof of the condition could not
    assume these claims.
    """

    claim: str
    condition: Condition
    without: tuple[str, ...]

    def __str__(self) -> str:
        at = f"{self.condition.action} does not preserve it ({self.condition.verdict})"
        return f"{at} without {', '.join(self.without)}" if self.without else at


@dataclass(frozen=True, slots=True, kw_only=True)
class InductiveSubset:
    kept: tuple[str, ...]  # empty if every invariant was dropped
    dropped: tuple[Dropped, ...]
    decided_again: tuple[Condition, ...]

    def dropped_claim(self, name: str) -> Dropped | None:
        return next((d for d in self.dropped if d.claim == name), None)


def inductive_subset(
    claims: Sequence[Claim],
    conditions: Sequence[Condition],
    again: Again,
    progress: Progress | None = None,
) -> InductiveSubset:
    """Returns the largest inductive set of claims that the solver can prove. The set is empty if it
    would only contain lemmas.

    `conditions` has the verdicts of proofs that may assume every claim. If a proof assumed a
    dropped claim, `again` decides its condition without the dropped claims. This is repeated until
    no further claim is dropped.
    """
    dropped = _failed(conditions)
    decided_again: list[Condition] = []
    proofs = {(c.action, c.claim): c for c in conditions}

    def invalid() -> list[Condition]:
        """Returns the proved conditions that are in doubt again: their proofs assumed a claim that
        was dropped since.
        """
        return [c for c in proofs.values() if c.claim not in dropped and c.assumed & dropped.keys()]

    def any_invariant() -> bool:
        return any(not claim.lemma and claim.name not in dropped for claim in claims)

    while any_invariant() and (todo := invalid()):
        for number, condition in enumerate(todo, 1):
            if condition.claim in dropped:
                continue  # dropped since the list was made
            without = tuple(dropped)
            found = again(condition, frozenset(without))
            decided_again.append(found)
            if progress is not None:
                progress(found, number, len(todo))
            if found.verdict == "proved":
                proofs[found.action, found.claim] = found
            else:
                dropped[found.claim] = Dropped(claim=found.claim, condition=found, without=without)
    names = [claim.name for claim in claims] if any_invariant() else []
    return InductiveSubset(
        kept=tuple(name for name in names if name not in dropped),
        dropped=tuple(dropped.values()),
        decided_again=tuple(decided_again),
    )


def _failed(conditions: Sequence[Condition]) -> dict[str, Dropped]:
    """Returns each claim that has an unproved condition, together with its first unproved
    condition.
    """
    dropped: dict[str, Dropped] = {}
    for c in conditions:
        if c.verdict != "proved" and c.claim not in dropped:
            dropped[c.claim] = Dropped(claim=c.claim, condition=c, without=())
    return dropped
