"""How thoroughly the suites search: each profile is a row, from minutes to a night.

A run is so many rules long. What has to be found outside a claim's condition is searched from an
empty database on each seed; what nothing may show takes all runs on each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.faults import UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """So many runs of each search, so many rules of each run, on so many seeds."""

    name: str
    says: str
    runs: int
    rules: int
    seeds: int = 1


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile(name="pr", says="minutes, before every merge", runs=100, rules=16),
        Profile(name="nightly", says="hours: ten seeds", runs=400, rules=16, seeds=10),
        Profile(name="deep", says="days: ten seeds, long runs", runs=2_000, rules=32, seeds=10),
    )
}


def profile_named(name: str) -> Profile:
    """The profile of this name; UnknownName tells the nearest ones."""
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]
