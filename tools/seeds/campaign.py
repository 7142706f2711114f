"""The searches of the shipped suites on ten seeds, inside and outside the claims' conditions.

A search does the work of `urteil test SUITE --seed N` at the profile `pr`, but without shrinking.
Searches outside a claim's condition do the work of the command with `--outside CLAIM`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from properties.suites.registry import SUITES
from properties.suites.search.deciding import ClaimVerdict, decide, run
from properties.suites.search.profiles import profile_named
from properties.suites.suite import Side, Suite
from tools.seeds.record import INSIDE, Row, Searched

SEEDS = range(10)
PROFILE = profile_named("pr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search of a suite with a seed. `side` says which claims are searched, and in which setting.

    If `side` is None, the conditions of all claims are satisfied. Otherwise `side` has one claim,
    and a setting or seeded bugs that violate the condition of this claim.
    """

    suite: Suite
    side: Side | None  # None: all claims inside
    seed: int

    @property
    def key(self) -> Searched:
        where = INSIDE if self.side is None else str(self.side)
        return Searched(suite=self.suite.name, where=where, seed=self.seed)


def searches(suites: Collection[str] = tuple(SUITES)) -> Iterator[Search]:
    """Yields the searches of the suites, ordered by seed."""
    for seed in SEEDS:
        for name in suites:
            for side in (None, *SUITES[name].outside):
                yield Search(suite=SUITES[name], side=side, seed=seed)


def conduct(search: Search) -> Row:
    """Runs a search, and returns its result. The result has each unexpected verdict with its
    reason.
    """
    started = time.process_time()
    suite, side, seed = search.suite, search.side, search.seed
    verdicts: tuple[ClaimVerdict, ...]
    if side is None:
        found = run(suite, seed=seed, runs=PROFILE.runs, rules=PROFILE.rules, shrinks=False)
        verdicts, expected = found.verdicts, "holds"
    else:
        runs, rules = PROFILE.runs, PROFILE.rules
        verdicts = (decide(suite, side, seed=seed, runs=runs, rules=rules, shrinks=False),)
        expected = "violated"
    return Row(
        searched=search.key,
        claims=len(verdicts),
        other={it.claim: f"{it.outcome}: {it.why}" for it in verdicts if it.outcome != expected},
        cpu_s=round(time.process_time() - started, 1),
    )
