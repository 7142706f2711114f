"""A suite as data: a Hypothesis state machine, and the expected verdicts on the claims of the
suite.

A setting is the configuration of a run. Each claim has a condition on the setting. An expected
verdict is on one of two sides of this condition:

- *inside*: the setting satisfies the condition, and no run may break the claim.
- *outside*: the setting or a seeded bug violates the condition, and some run breaks the claim.

A claim that something *can* happen has goals: observations that prove the claim. Inside, each goal
is reached by some run. Outside, at least one of the goals is reached by no run. If a search inside
misses a goal, the claim is undecided, because more runs may find it. If a search outside finds no
run that breaks the claim, the claim is undecided for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from properties.claims.breach import Always, Sometimes
from properties.suites.machines.judged import JudgedMachine
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs

Outcome = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two sides of a claim: inside its condition, where it holds, or outside, where it
    is violated. `setting` is the text that describes the side, and `bugs` are the broker's bugs.
    """

    claim: str
    setting: str
    bugs: Bugs = NO_BUGS
    expected: Outcome
    because: str

    def __str__(self) -> str:
        bugs = "".join(f", bug {bug.value}" for bug in sorted(self.bugs, key=lambda b: b.value))
        return f"{self.claim} ({self.setting}{bugs})"


def inside(claim: str, setting: str, because: str) -> Side:
    """Returns the expected verdict that the claim holds.

    `because` is the reason: how the setting satisfies the claim's condition.
    """
    return Side(claim=claim, setting=setting, expected="holds", because=because)


def outside(claim: str, setting: str, because: str, *bugs: Bug) -> Side:
    """Returns the expectation that some run violates the claim.

    `because` is the reason: how the setting or the bugs violate the claim's condition.
    """
    return Side(
        claim=claim, setting=setting, bugs=frozenset(bugs), expected="violated", because=because
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite: a Hypothesis state machine, and the expected verdicts on the claims that its runs
    can break.

    The module's docstring explains `inside` and `outside`.
    """

    name: str
    summary: str
    machine: type[JudgedMachine]
    inside: tuple[Side, ...]
    outside: tuple[Side, ...]
    share_of_runs: float = 1.0  # of the requested runs, inside: many settings share the budget
    share_of_rules: float = 1.0  # of the requested rules of each run: long rules need fewer

    @property
    def always(self) -> Always:
        return self.machine.ALWAYS

    @property
    def sometimes(self) -> Sometimes:
        return self.machine.SOMETIMES

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.inside + self.outside

    @property
    def claims(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(side.claim for side in self.sides))
