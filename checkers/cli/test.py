"""`urteil test`: a property suite, driven by Hypothesis against the simulated reference broker."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from checkers.cli.run import Run, command
from checkers.events import Measured, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from properties.suites.deciding import ClaimVerdict
    from properties.suites.searching import Tally
    from properties.suites.suite import Side, Suite
    from reference_impl.bugs import Bugs


@click.command("test")
@click.argument("suite", default="replication")
@click.option("--bug", "bugs", multiple=True, help="A seeded bug, on purpose: urteil list bugs.")
@click.option("--outside", is_flag=True, help="Decide claims outside their conditions instead.")
@click.option("--runs", default=100, show_default=True, help="How many runs each search tries.")
@command()
def test_command(run: Run, suite: str, bugs: Sequence[str], outside: bool, runs: int) -> None:
    """Run SUITE: each claim inside its condition; a breach is shrunk to a program to paste.

    \b
    urteil test replication
    urteil test replication --bug no-dedup

    With --outside every claim is taken out of its condition, where it must break: the exit code
    then says whether verdicts are the expected ones.
    """
    from properties.suites.registry import suite_named
    from reference_impl.bugs import bugs_named

    if runs < 1:
        raise InputFault(f"--runs {runs}: at least 1")
    if outside and bugs:
        raise InputFault("--outside brings its own bugs: leave --bug out")
    chosen = suite_named(suite)
    if outside:
        run.judged_by_expectation = True
        for side in chosen.outside:
            decide(run, chosen, side, runs)
    else:
        inside(run, chosen, bugs_named(*bugs), runs)


def inside(run: Run, suite: Suite, bugs: Bugs, runs: int) -> None:
    """Every claim of the suite inside its condition, on a broker with these bugs."""
    from properties.suites import deciding
    from reference_impl.bugs import SEEDED_BUGS

    started = time.monotonic()
    try:
        found = deciding.run(
            suite, bugs=bugs, seed=run.seed, runs=runs, progress=told(run, suite.name)
        )
    except KeyboardInterrupt:
        for claim in dict.fromkeys(side.claim for side in suite.inside):
            open_claim = deciding.ClaimVerdict(claim=claim, outcome="undecided", why="interrupted")
            emit(run, suite.name, open_claim, None, named(bugs), time.monotonic() - started, "")
        raise
    breaks = {claim for row in SEEDED_BUGS if row.bug in bugs for claim in row.breaks}
    seconds = round(time.monotonic() - started, 2)
    for verdict in found.verdicts:
        expected: Verdict | None = "holds"
        if bugs:
            known = verdict.claim in breaks and verdict.outcome != "undecided"
            expected = "violated" if known else None
        emit(
            run,
            suite.name,
            verdict,
            expected,
            named(bugs),
            seconds,
            f"{options(bugs)} --runs {runs}",
        )
    rate = found.broker_steps / found.cpu_seconds if found.cpu_seconds else 0.0
    run.emit(Measured(what=f"{suite.name}: runs", value=found.runs))
    run.emit(Measured(what=f"{suite.name}: broker steps per CPU second", value=round(rate)))


def decide(run: Run, suite: Suite, side: Side, runs: int) -> None:
    """One claim on one side of its condition."""
    from properties.suites import deciding

    started = time.monotonic()
    verdict = deciding.decide(suite, side, seed=run.seed, runs=runs, progress=told(run, str(side)))
    variant = ", ".join(filter(None, (side.setting, named(side.bugs))))
    seconds = round(time.monotonic() - started, 2)
    emit(run, suite.name, verdict, side.expected, variant, seconds, f" --outside --runs {runs}")


def emit(
    run: Run,
    suite: str,
    verdict: ClaimVerdict,
    expected: Verdict | None,
    variant: str | None,
    seconds: float,
    side: str,
) -> None:
    """A verdict; the programs that show a violation before it."""
    from properties.claims import BY_ID

    claim = BY_ID.get(verdict.claim)  # that a cluster makes progress is no claim of the catalogue
    again = shlex.join(["urteil", "test", suite, "--seed", str(run.seed)]) + side
    if verdict.outcome == "violated":
        for program in verdict.programs:
            title = f"✗ {verdict.claim}  violated  ({', '.join(filter(None, (suite, variant)))})"
            shown = f"{title}\n  {verdict.why}\n\n{program}# replay: {again}"
            file, known = f"{suite}-{verdict.claim}.txt", expected == "violated"
            run.keep(verdict.claim, shown, file, verdict_expected=known)
    run.emit(
        PropertyDecided(
            property=verdict.claim,
            statement=claim.statement if claim is not None else None,
            verdict=verdict.outcome,
            expected=expected,
            engine="hypothesis",
            spec=suite,
            variant=variant,
            seconds=seconds,
            reason=verdict.why,
        )
    )


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
