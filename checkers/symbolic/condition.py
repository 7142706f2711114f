"""A condition of a proof by induction, and the solver's verdict on it. A condition says that an
action preserves a claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from checkers.symbolic.portfolio import Outcome
from model.language.spec import Action, Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition (`action` preserves `claim`), and the solver's verdict on the condition.

    If `action` is `init`, the condition says that the claim is true in every initial state.
    """

    action: str
    claim: str
    verdict: Literal["proved", "refuted", "unknown"]
    how: str
    seconds: float  # in Z3
    assumed: frozenset[str] = frozenset()  # claims that a proof of the condition assumes
    from_cache: bool = False  # an earlier run proved the condition

    @classmethod
    def of(cls, action: Action, claim: Claim, outcome: Outcome) -> Condition:
        return cls(
            action=action.name,
            claim=claim.name,
            verdict=outcome.verdict,
            how=outcome.how,
            seconds=outcome.seconds,
            assumed=outcome.assumed,
            from_cache=outcome.from_cache,
        )

    def __str__(self) -> str:
        spent = "from the cache" if self.from_cache else f"{self.seconds:.2f} s"
        verdict = f"{self.verdict} ({self.how}, {spent})"
        return f"{self.action} preserves {self.claim}: {verdict}"


# called with a condition, its number from 1, and the number of conditions
Progress = Callable[[Condition, int, int], None]
