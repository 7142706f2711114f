"""Writes the record of the claims (Kafka's guarantees): the verdicts of each engine on them.

`python -m tools.claims [--profile pr] [--side outside] [--reprint] [NAME ...]` writes
`checkers/claim_record.json`. A NAME is a suite, or `model`, `proof` or `history`. If names are
given, only their rows are replaced. Without a name, all rows are replaced.

A claim has a condition, for example a setting of clients. Inside the condition (side `inside`), the
claim must hold. Outside (side `outside`), the claim should be violated. The engines find their
verdicts as follows:

    suite    Inside, no random run may break the claim. Outside, the suite searches for a
             counterexample on several seeds. The counterexample of the first seed is shrunk.
    model    The verdicts are copied from `checkers/track_record.json`.
    proof    The proof is run again.
    history  Histories are simulated from several seeds. With a correct broker, none may have an
             anomaly. With a seeded bug that must be caught, some history must have an anomaly.
             If no simulated history has one, a suite searches for such a history.

A counterexample of a suite is recorded as a program: the list of its calls, with comments. With
`--reprint`, nothing is searched: the recorded programs are run, and their comments are updated.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Final

from checkers import symbolic
from checkers.claim_record import Decided, keep, kept
from checkers.sweeping import Judged, Swept, judge
from checkers.symbolic import Proof
from checkers.track_record import Caught
from checkers.track_record import kept as caught
from model.faults import UnknownName
from model.specs import all_variants, find
from properties.claims.catalogue import CLAIMS
from properties.claims.claim import Claim, Decider
from properties.suites.machines.judged import Tally
from properties.suites.registry import SUITES
from properties.suites.search.counterexample import program, reprint
from properties.suites.search.deciding import RULES, RUNS, Search, decide, run
from properties.suites.search.profiles import Profile, profile_named
from properties.suites.suite import Outcome, Side, Suite
from reference_impl.node.bugs import Bug
from reference_impl.node.seeded_bugs import SEEDED_BUGS, SeededBug
from reference_impl.simulation.sweeps import SWEEPS

FRUITLESS: Final = 20  # runs on each seed, if no run may show the goal
SEEDS: Final = 20  # of a sweep, on a correct broker
BUGGY_SEEDS: Final = 3  # of a sweep, before a suite searches instead
HISTORY: Final = "history analysis"  # its name in the table of seeded bugs
SIDES: Final = ("inside", "outside")


# ---------------------------------------------------------------- suites


def by_suite(suite: Suite, sides: Collection[str], profile: Profile) -> Iterator[Decided]:
    """Yields the verdicts of a suite. `sides` selects `inside`, where the claims must hold, or
    `outside`, where they should break, or both.

    A setting is a named configuration of the suite. For `inside`, there is one run for each
    setting, with all claims of the setting. For `outside`, there is one search for each entry of
    `suite.outside`.
    """
    if "inside" in sides:
        for setting in dict.fromkeys(side.setting for side in suite.inside):
            yield from _inside(suite, setting, profile)
    if "outside" in sides:
        for side in suite.outside:
            yield _outside(suite, side, profile)


def _inside(suite: Suite, setting: str, profile: Profile) -> Iterator[Decided]:
    there = tuple(side for side in suite.inside if side.setting == setting)
    result = run(replace(suite, inside=there), runs=profile.runs, rules=profile.rules)
    for verdict in result.verdicts:
        yield Decided(
            claim=verdict.claim,
            engine="suite",
            name=suite.name,
            side="inside",
            where=setting,
            verdict=verdict.outcome,
            searched=verdict.why,
            counterexample="\n".join(verdict.programs),
        )


def _outside(suite: Suite, side: Side, profile: Profile) -> Decided:
    fruitless = side.claim in suite.sometimes
    runs = FRUITLESS if fruitless else profile.runs
    verdicts = [
        decide(suite, side, seed=seed, runs=runs, rules=profile.rules, shrinks=seed == 0)
        for seed in range(profile.seeds)
    ]
    outcomes: Counter[Outcome] = Counter(verdict.outcome for verdict in verdicts)
    ((outcome, times),) = outcomes.most_common(1)
    _, _, where = str(side).partition(" ")
    return Decided(
        claim=side.claim,
        engine="suite",
        name=suite.name,
        side="outside",
        where=where.strip("()"),
        verdict=outcome,
        searched=f"on {times} seeds of {profile.seeds}"
        + (f", no run shows it in {runs}" if fruitless else ""),
        counterexample="\n".join(verdicts[0].programs),
    )


# ---------------------------------------------------------------- the model


def by_model(claim: Claim, decider: Decider) -> Iterator[Decided]:
    """Yields two verdicts for each bug that violates the claim: the verdict on the version of the
    spec that fixes the bug, and the verdict on the version with the bug.
    """
    for row in caught().values():
        if f"{row.spec}.{row.breaks}" == decider.name:
            yield Decided(
                claim=claim.id,
                engine=decider.engine,
                name=decider.name,
                side="inside",
                where=f"{row.fixed_by}, within the bounds of {row.variant}",
                verdict=row.fixed_verdict,
                searched=f"in all {row.fixed_states:,} states",
            )
            yield _broken(claim, decider, row)


def _broken(claim: Claim, decider: Decider, row: Caught) -> Decided:
    return Decided(
        claim=claim.id,
        engine=decider.engine,
        name=decider.name,
        side="outside",
        where=row.variant,
        verdict=row.verdict,
        searched=f"in {row.steps} steps",
        counterexample=_line(row),
    )


def _line(row: Caught) -> str:
    (variant,) = (it for it in all_variants() if (it.spec, it.name) == row.row)
    bounds = "".join(f" --set {k}={str(v).lower()}" for k, v in variant.at.items())
    return f"urteil check {row.spec} --variant {row.variant}{bounds} --property {row.breaks}"


def by_proof(claim: Claim, decider: Decider) -> Iterator[Decided]:
    """Yields the verdict of the proof of the spec, and a verdict for each seeded bug that violates
    the claim.
    """
    spec, _, _ = decider.name.partition(".")
    proof = _proof(spec)
    yield Decided(
        claim=claim.id,
        engine="proof",
        name=decider.name,
        side="inside",
        where=find(spec).name,
        verdict="holds" if proof.holds else "undecided",
        searched=f"{len(proof.conditions)} conditions, for any number of everything",
    )
    for row in caught().values():
        if f"{row.spec}.{row.breaks}" == decider.name:
            yield _broken(claim, decider, row)


@cache
def _proof(spec: str) -> Proof:
    return symbolic.prove(find(spec).make())


# ---------------------------------------------------------------- histories


def by_history(claim: Claim, decider: Decider) -> Iterator[Decided]:
    """Yields a verdict for each sweep of a correct broker, and for each seeded bug that breaks the
    claim.

    A sweep is a series of simulated runs of one scenario on many seeds. The claim states that an
    anomaly does not occur. Sweeps in which no operation was checked for this anomaly are left out.
    """
    sweeps = [sweep for sweep in SWEEPS if _observations(decider.name, sweep)]
    for sweep in sweeps:
        shown = any(decider.name in _judged(sweep, seed).occurs for seed in range(SEEDS))
        yield Decided(
            claim=claim.id,
            engine="history",
            name=decider.name,
            side="inside",
            where=f"sweep {sweep}",
            verdict="violated" if shown else "holds",
            searched=f"{_observations(decider.name, sweep):,} observations on {SEEDS} seeds",
        )
    for row in SEEDED_BUGS:
        if decider.name in row.breaks and HISTORY in row.caught_by:
            yield _by_bug(claim, decider, row, list(SWEEPS))


def _by_bug(claim: Claim, decider: Decider, row: SeededBug, sweeps: list[str]) -> Decided:
    searched, shown = (
        _in_a_sweep(decider.name, row, sweeps)
        or _in_a_suite(decider.name, row)
        or (f"{BUGGY_SEEDS} seeds of each sweep, and the suites", "")
    )
    return Decided(
        claim=claim.id,
        engine="history",
        name=decider.name,
        side="outside",
        where=f"bug {row.name}",
        verdict="violated" if shown else "holds",
        searched=searched,
        counterexample=shown,
    )


def _in_a_sweep(anomaly: str, row: SeededBug, sweeps: list[str]) -> tuple[str, str] | None:
    for seed, sweep in product(range(BUGGY_SEEDS), sweeps):
        if anomaly in _judged(sweep, seed, row.bug).occurs:
            line = f"urteil sweep {sweep} --seeds {seed} --bug {row.name}"
            return f"sweep {sweep}, seed {seed}", line
    return None


def _in_a_suite(anomaly: str, row: SeededBug) -> tuple[str, str] | None:
    bugs = frozenset({row.bug})
    for suite in (suite for suite in SUITES.values() if f"suite {suite.name}" in row.caught_by):
        where = Search(suite=suite, seed=0, runs=RUNS, rules=RULES, tally=Tally())
        for setting in dict.fromkeys(side.setting for side in suite.outside if side.bugs == bugs):
            if found := where.found(setting, bugs, (anomaly,)):
                shown = program(suite.machine, found, setting, bugs)
                return f"suite {suite.name}, {setting}, seed 0", shown
    return None


def _observations(anomaly: str, sweep: str) -> int:
    return sum(_judged(sweep, seed).observations.get(anomaly, 0) for seed in range(SEEDS))


@cache
def _judged(sweep: str, seed: int, *bugs: Bug) -> Judged:
    return judge(Swept(sweep=sweep, bugs=frozenset(bugs)), seed)


# ---------------------------------------------------------------- the record


ENGINES: Final = {"model": by_model, "proof": by_proof, "history": by_history}


def verdicts_of(
    names: Collection[str], sides: Collection[str], profile: Profile
) -> Iterator[Decided]:
    """Yields the verdicts of the named suites and engines.

    `sides` selects the side inside the claims' conditions, the side outside, or both.
    """
    for suite in SUITES.values():
        if suite.name in names:
            yield from by_suite(suite, sides, profile)
    for claim in CLAIMS:
        for decider in claim.decided_by:
            if decider.engine in ENGINES and decider.engine in names:
                rows = ENGINES[decider.engine](claim, decider)
                yield from (row for row in rows if row.side in sides)


def main() -> None:
    everything = [*SUITES, *ENGINES]
    parser = argparse.ArgumentParser(prog="python -m tools.claims")
    parser.add_argument("--profile", default="nightly")
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--reprint", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.reprint:
        _keep(map(reprinted, kept()))
        return
    names: list[str] = options.names or everything
    for name in names:
        if name not in everything:
            raise UnknownName("suite or engine", name, everything)
    sides: list[str] = [options.side] if options.side else [*SIDES]
    renewed: set[tuple[str, ...]] = set()
    for row in verdicts_of(names, sides, profile_named(options.profile)):
        sys.stdout.write(f"{row.claim} {row.side}: {row}\n")
        sys.stdout.flush()
        renewed.add(_key(row))
        _keep([*(other for other in kept() if _key(other) != _key(row)), row])
    _keep(
        row
        for row in kept()
        if _key(row) in renewed or row.side not in sides or not {row.engine, row.name} & {*names}
    )


def reprinted(row: Decided) -> Decided:
    """Returns the row with the comments of its programs updated: the programs are run again."""
    if "\nstate = " not in row.counterexample:
        return row
    # a claim with several goals has one program for each goal
    programs = row.counterexample.split("\n\nfrom properties.")
    texts = [programs[0], *(f"from properties.{text}" for text in programs[1:])]
    return replace(row, counterexample="\n".join(map(reprint, texts)))


def _keep(record: Iterable[Decided]) -> None:
    order = [claim.id for claim in CLAIMS]
    keep(sorted(record, key=lambda row: (order.index(row.claim), *_key(row)[1:])))


def _key(row: Decided) -> tuple[str, ...]:
    return row.claim, row.engine, row.name, row.side, row.where


if __name__ == "__main__":
    main()
