"""`urteil test`: property suites, driven by Hypothesis against the simulated reference broker."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from checkers.cli.run import Run, command
from checkers.events import Measured, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from properties.suites.machines.judged import Tally
    from properties.suites.search.deciding import ClaimVerdict
    from properties.suites.search.profiles import Profile
    from properties.suites.suite import Side, Suite
    from reference_impl.node.bugs import Bugs

STORES: Final = "delivery"  # the suite whose applications have a database


@click.command("test")
@click.argument("suites", nargs=-1, metavar="[SUITE]...")
@click.option("--bug", "bugs", multiple=True, help="A seeded bug, on purpose: urteil list bugs.")
@click.option("--outside", is_flag=True, help="Decide claims outside their conditions instead.")
@click.option("--profile", default="pr", show_default=True, help="pr, nightly or deep.")
@click.option("--runs", type=int, help="How many runs each search tries; else the profile's.")
@click.option(
    "--postgres",
    metavar="DSN",
    help="Applications of `delivery` store there; else $URTEIL_POSTGRES_DSN, else SQLite.",
)
@command()
def test_command(
    run: Run,
    suites: Sequence[str],
    bugs: Sequence[str],
    outside: bool,
    profile: str,
    runs: int | None,
    postgres: str | None,
) -> None:
    """Run each SUITE, or all: each claim inside its condition; a breach is shrunk to a program.

    \b
    urteil test replication
    urteil test replication --bug no-dedup
    urteil test --outside --profile nightly

    With --outside every claim is taken out of its condition, where it must break: the exit code
    then says whether verdicts are the expected ones.
    """
    from properties.suites.delivery.stores import opening
    from properties.suites.registry import SUITES, suite_named
    from properties.suites.search.profiles import profile_named
    from reference_impl.node.bugs import bugs_named

    if runs is not None and runs < 1:
        raise InputFault(f"--runs {runs}: at least 1")
    if outside and bugs:
        raise InputFault("--outside brings its own bugs: leave --bug out")
    thorough = profile_named(profile)
    if runs is not None:
        thorough = replace(thorough, runs=runs)
    chosen = [suite_named(name) for name in suites or SUITES]
    seeded = bugs_named(*bugs)
    run.judged_by_expectation = outside
    with opening.in_postgres(postgres):
        if any(suite.name == STORES for suite in chosen):
            opening.check_store()
        elif postgres is not None:
            run.note(f"--postgres: only the suite {STORES} stores anything")
        for suite in chosen:
            for seed in range(run.seed, run.seed + thorough.seeds):
                if outside:
                    for side in suite.outside:
                        decide(run, suite, side, thorough, seed)
                else:
                    inside(run, suite, seeded, thorough, seed)


def inside(run: Run, suite: Suite, bugs: Bugs, profile: Profile, seed: int) -> None:
    """Every claim of the suite inside its condition, on a broker with these bugs."""
    from properties.suites.search import deciding
    from reference_impl.node.seeded_bugs import SEEDED_BUGS

    started = time.monotonic()
    try:
        found = deciding.run(
            suite,
            bugs=bugs,
            seed=seed,
            runs=profile.runs,
            rules=profile.rules,
            progress=told(run, suite.name),
        )
    except KeyboardInterrupt:
        for claim in dict.fromkeys(side.claim for side in suite.inside):
            open_claim = deciding.ClaimVerdict(claim=claim, outcome="undecided", why="interrupted")
            seconds = round(time.monotonic() - started, 2)
            emit(run, suite, open_claim, None, named(bugs), seconds, "")
        raise
    breaks = {claim for row in SEEDED_BUGS if row.bug in bugs for claim in row.breaks}
    seconds = round(time.monotonic() - started, 2)
    again = replayed(suite, seed, profile) + options(bugs)
    for verdict in found.verdicts:
        expected: Verdict | None = "holds"
        if bugs:
            known = verdict.claim in breaks and verdict.outcome != "undecided"
            expected = "violated" if known else None
        emit(run, suite, verdict, expected, named(bugs), seconds, again)
    rate = found.broker_steps / found.cpu_seconds if found.cpu_seconds else 0.0
    run.emit(Measured(what=f"{suite.name}: runs", value=found.runs))
    run.emit(Measured(what=f"{suite.name}: broker steps per CPU second", value=round(rate)))


def decide(run: Run, suite: Suite, side: Side, profile: Profile, seed: int) -> None:
    """One claim on one side of its condition."""
    from properties.suites.search import deciding

    started = time.monotonic()
    verdict = deciding.decide(
        suite,
        side,
        seed=seed,
        runs=profile.runs,
        rules=profile.rules,
        progress=told(run, str(side)),
    )
    variant = ", ".join(filter(None, (side.setting, named(side.bugs))))
    seconds = round(time.monotonic() - started, 2)
    again = f"{replayed(suite, seed, profile)} --outside"
    emit(run, suite, verdict, side.expected, variant, seconds, again)


def emit(
    run: Run,
    suite: Suite,
    verdict: ClaimVerdict,
    expected: Verdict | None,
    variant: str | None,
    seconds: float,
    again: str,
) -> None:
    """A verdict; the programs that show why it does not hold before it."""
    from properties.claims.catalogue import BY_ID

    claim = BY_ID.get(verdict.claim)  # that a cluster makes progress is no claim of the catalogue
    if verdict.outcome != "holds":
        for program in verdict.programs:
            where = ", ".join(filter(None, (suite.name, variant)))
            title = f"✗ {verdict.claim}  {verdict.outcome}  ({where})"
            shown = f"{title}\n  {verdict.why}\n\n{program}# replay: {again}"
            file, known = f"{suite.name}-{verdict.claim}.txt", expected == "violated"
            run.keep(verdict.claim, shown, file, verdict_expected=known)
    run.emit(
        PropertyDecided(
            property=verdict.claim,
            statement=claim.statement if claim is not None else None,
            verdict=verdict.outcome,
            expected=expected,
            engine="hypothesis",
            spec=suite.name,
            variant=variant,
            seconds=seconds,
            reason=verdict.why,
        )
    )


def replayed(suite: Suite, seed: int, profile: Profile) -> str:
    """The command that begins with the same search."""
    from properties.suites.delivery.stores import opening

    words = ["urteil", "test", suite.name, "--seed", str(seed), "--profile", profile.name]
    words += ["--runs", str(profile.runs)]
    if (dsn := opening.chosen_server()) is not None:
        words += ["--postgres", dsn]
    return shlex.join(words)


def told(run: Run, what: str) -> Callable[[Tally], None]:
    """Progress in words."""
    return lambda tally: run.progress(
        f"{what}: {tally.runs:,} runs, {tally.broker_steps:,} broker steps"
    )


def options(bugs: Bugs) -> str:
    """The bugs as they are typed."""
    return "".join(sorted(f" --bug {bug.value}" for bug in bugs))


def named(bugs: Bugs) -> str | None:
    """The bugs' names; None without bugs."""
    return ", ".join(sorted(f"bug {bug.value}" for bug in bugs)) or None
