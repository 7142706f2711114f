"""The search budgets of the suites, from minutes to days.

A search makes `runs` runs with each of the `seeds` seeds. It ends earlier if a run breaks a claim
or reaches a goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.faults import UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A search budget: the number of runs per search, the number of rule calls per run, and the
    number of seeds.
    """

    name: str
    summary: str
    runs: int
    rules: int
    seeds: int = 1


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile(name="pr", summary="minutes, before every merge", runs=100, rules=16),
        Profile(name="nightly", summary="hours: ten seeds", runs=400, rules=16, seeds=10),
        Profile(name="deep", summary="days: ten seeds, long runs", runs=2_000, rules=32, seeds=10),
    )
}


def profile_named(name: str) -> Profile:
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]
