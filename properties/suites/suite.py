"""A suite as data: its machine, and the claims that it decides inside and outside their conditions.

*Inside* a claim's condition no run may break the claim. *Outside*, in another setting or on a
broker with a seeded bug, some run breaks it; the smallest such run is the counterexample.

For a claim that something *can* happen it is the reverse: inside, each of its goals is reached by
some run; outside, at least one goal is never reached. A goal that the search misses inside leaves
the claim undecided, because more runs may reach it.
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
    """The verdict that a suite must reach on a claim, in one setting and with seeded bugs."""

    claim: str
    setting: str
    bugs: Bugs = NO_BUGS
    expected: Outcome
    because: str

    def __str__(self) -> str:
        bugs = "".join(f", bug {bug.value}" for bug in sorted(self.bugs, key=lambda b: b.value))
        return f"{self.claim} ({self.setting}{bugs})"


def inside(claim: str, setting: str, because: str) -> Side:
    """Returns a `Side`: the claim must hold, since the setting satisfies the claim's condition."""
    return Side(claim=claim, setting=setting, expected="holds", because=because)


def outside(claim: str, setting: str, because: str, *bugs: Bug) -> Side:
    """Returns a `Side`: the claim must break, since setting or bugs violate its condition."""
    return Side(
        claim=claim, setting=setting, bugs=frozenset(bugs), expected="violated", because=because
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite: a machine, and its claims inside and outside their conditions."""

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
