"""A suite as data: the claims that it decides, and on which side of their conditions.

A claim that holds only under a condition has two sides. *Inside*, no run may break it. *Outside*
(another setting, or a seeded bug of the broker) some run breaks it, and the smallest one found is
shown. A claim that something can happen is the other way round: inside, some run shows each of its
goals; outside, none does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from properties.claims.breach import Always, Sometimes
from properties.suites.machine import JudgedMachine
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs

Outcome = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a claim's condition, and what is expected there."""

    claim: str
    setting: str
    bugs: Bugs = NO_BUGS
    expected: Outcome
    because: str

    def __str__(self) -> str:
        bugs = "".join(f", bug {bug.value}" for bug in sorted(self.bugs, key=lambda b: b.value))
        return f"{self.claim} ({self.setting}{bugs})"


def inside(claim: str, setting: str, because: str) -> Side:
    """The claim holds in this setting."""
    return Side(claim=claim, setting=setting, expected="holds", because=because)


def outside(claim: str, setting: str, because: str, *bugs: Bug) -> Side:
    """The claim does not hold in this setting, or on a broker with these bugs."""
    return Side(
        claim=claim, setting=setting, bugs=frozenset(bugs), expected="violated", because=because
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A suite: its machine, its claims inside their conditions, and the sides outside."""

    name: str
    says: str
    machine: type[JudgedMachine]
    inside: tuple[Side, ...]
    outside: tuple[Side, ...]
    share_of_runs: float = 1.0  # that are asked for, inside: many settings take fewer each
    share_of_rules: float = 1.0  # that are asked for of each run: long rules need fewer

    @property
    def always(self) -> Always:
        """The claims that hold always, inside their conditions."""
        return self.machine.ALWAYS

    @property
    def sometimes(self) -> Sometimes:
        """The claims that something can happen, with their goals."""
        return self.machine.SOMETIMES

    @property
    def sides(self) -> tuple[Side, ...]:
        """Every side that the suite decides."""
        return self.inside + self.outside

    @property
    def claims(self) -> tuple[str, ...]:
        """Every claim that the suite decides."""
        return tuple(dict.fromkeys(side.claim for side in self.sides))
