"""Makes the record of the claims: decides each by each of its engines, inside and outside.

`python -m benchmarks.claims [--profile pr] [NAME ...]` writes `checkers/claim_record.json`; a name
is that of a suite, or `model`, `proof`, `history`: then only their runs are made again.

A suite searches outside on the seeds of the profile, ten without one, and shrinks what it finds on
the first: a row says on how many. A model's runs are
those of the track record; a proof is made again. A history is one that simulated clients observed:
on a right broker nothing may show, and with each seeded bug that shows an anomaly some seed has to
show it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from checkers import symbolic
from checkers.claim_record import Decided, keep, kept
from checkers.track_record import Caught
from checkers.track_record import kept as caught
from model.specs import VARIANTS, find
from properties.anomalies.catalogue import BY_ID as ANOMALIES
from properties.claims import CLAIMS, Claim, Decider
from properties.suites.deciding import decide, run
from properties.suites.profiles import Profile, profile_named
from properties.suites.registry import SUITES
from properties.suites.suite import Outcome, Side, Suite
from reference_impl.bugs import NO_BUGS, SEEDED_BUGS, SeededBug
from reference_impl.simulation.runs import run as simulate
from reference_impl.simulation.sweeps import SWEEPS

FRUITLESS: Final = 20  # runs on each seed, where none may show it
SEEDS: Final = 20  # of a sweep, until a bug shows


# ---------------------------------------------------------------- suites


def by_suite(suite: Suite, profile: Profile) -> Iterator[Decided]:
    """Both sides of every claim of the suite."""
    for setting in dict.fromkeys(side.setting for side in suite.inside):
        yield from _inside(suite, setting, profile)
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
        + (f", none of {runs} runs shows it" if fruitless else ""),
        counterexample="\n".join(verdicts[0].programs),
    )


# ---------------------------------------------------------------- the model


def by_model(claim: Claim, decider: Decider) -> Iterator[Decided]:
    """The variants that break a property, and what mends each."""
    for row in caught().values():
        if f"{row.spec}.{row.breaks}" == decider.name:
            yield Decided(
                claim=claim.id,
                engine=decider.engine,
                name=decider.name,
                side="inside",
                where=row.mended,
                verdict=row.mended_verdict,
                searched=f"in all {row.mended_states:,} states within the bounds of {row.variant}",
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
    """What to type to see it."""
    (variant,) = (known for known in VARIANTS if (known.spec, known.name) == row.row)
    bounds = "".join(f" --set {k}={str(v).lower()}" for k, v in variant.see.items())
    return f"urteil check {row.spec} --variant {row.variant}{bounds} --property {row.breaks}"


def by_proof(claim: Claim, decider: Decider) -> Iterator[Decided]:
    """The proof of the default, and the variants that break it."""
    spec, _, _ = decider.name.partition(".")
    default = find(spec)
    proof = symbolic.prove(default.make())
    yield Decided(
        claim=claim.id,
        engine="proof",
        name=decider.name,
        side="inside",
        where=default.name,
        verdict="holds" if proof.holds else "undecided",
        searched=f"{len(proof.conditions)} conditions, for any number of everything",
    )
    for row in caught().values():
        if f"{row.spec}.{row.breaks}" == decider.name:
            yield _broken(claim, decider, row)


# ---------------------------------------------------------------- histories


def by_history(claim: Claim, decider: Decider) -> Iterator[Decided]:
    """The anomaly on a right broker, and with each seeded bug that is to show it."""
    anomaly = ANOMALIES[decider.name]
    bugs = [row for row in SEEDED_BUGS if anomaly.id in row.breaks]
    found = [_found(decider.name, row) for row in bugs]
    for row, where in zip(bugs, found, strict=True):
        if where is not None:
            yield Decided(
                claim=claim.id,
                engine="history",
                name=decider.name,
                side="outside",
                where=f"bug {row.name}",
                verdict="violated",
                searched=f"sweep {where[0]}, seed {where[1]}",
                counterexample=f"urteil sweep {where[0]} --seeds {where[1]} --bug {row.name}",
            )
    for name, sweep in SWEEPS.items():
        if not any(where is not None and where[0] == name for where in found):
            continue
        shown = [
            seed for seed in range(SEEDS) if anomaly.find(simulate(sweep.scenario(seed)).history)
        ]
        yield Decided(
            claim=claim.id,
            engine="history",
            name=decider.name,
            side="inside",
            where="a right broker",
            verdict="violated" if shown else "holds",
            searched=f"sweep {name}, {SEEDS} seeds",
        )


def _found(anomaly: str, row: SeededBug) -> tuple[str, int] | None:
    """The sweep and the seed that show it."""
    for name, sweep in SWEEPS.items():
        for seed in range(SEEDS):
            scenario = replace(sweep.scenario(seed), bugs=NO_BUGS | {row.bug})
            if ANOMALIES[anomaly].find(simulate(scenario).history):
                return name, seed
    return None


ENGINES: Final = {"model": by_model, "proof": by_proof, "history": by_history}


def made(names: list[str], profile: Profile) -> Iterator[Decided]:
    """The runs of these suites and engines; of all without a name."""
    for suite in SUITES.values():
        if not names or suite.name in names:
            yield from by_suite(suite, profile)
    for claim in CLAIMS:
        for decider in claim.decided_by:
            if decider.engine in ENGINES and (not names or decider.engine in names):
                yield from ENGINES[decider.engine](claim, decider)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims")
    parser.add_argument("--profile", default="nightly")
    parser.add_argument("names", nargs="*", metavar="NAME")
    told = parser.parse_args()
    names: list[str] = told.names
    order = [claim.id for claim in CLAIMS]
    fresh: list[Decided] = []
    for row in made(names, profile_named(told.profile)):
        sys.stdout.write(f"{row.claim} {row.side}: {row}\n")
        sys.stdout.flush()
        fresh.append(row)
        others = [row for row in kept() if names and not {row.engine, row.name} & {*names}]
        keep(
            sorted(
                (*others, *fresh),
                key=lambda row: (order.index(row.claim), row.engine, row.name, row.side),
            )
        )


if __name__ == "__main__":
    main()
