"""`urteil test`: runs property suites on the simulated broker, or on a real system with the option
--on.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers.cli import completion
from checkers.cli.command import command
from checkers.cli.kept_traces import keep_trace
from checkers.cli.run import Run
from checkers.cli.system_options import RUNNING, broker_settings, bug_option, system_options
from checkers.cli.trials import decide_on
from checkers.events import Measured, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from properties.suites.machines.judged import Tally
    from properties.suites.search.deciding import ClaimVerdict
    from properties.suites.search.profiles import Profile
    from properties.suites.suite import Side, Suite
    from reference_impl.node.bugs import Bugs

SIMULATED: Final = "simulated"
STORES: Final = "delivery"  # the only suite whose applications use a database


@click.command("test")
@click.argument("suites", nargs=-1, metavar="[SUITE]...", shell_complete=completion.suites)
@bug_option
@click.option(
    "--outside", is_flag=True, help="Check each claim outside its condition, where it must fail."
)
@click.option(
    "--profile",
    default="pr",
    show_default=True,
    shell_complete=completion.profiles,
    help="How thorough: pr, nightly or deep.",
)
@click.option("--runs", type=int, help="Runs of each search. Default: the number of the profile.")
@click.option(
    "--postgres",
    metavar="DSN",
    help="PostgreSQL server for the applications of the suite delivery."
    " Default: $URTEIL_POSTGRES_DSN, else SQLite.",
)
@click.option(
    "--proxied",
    is_flag=True,
    help="Put a proxy between every two nodes of --on apache-kafka, so that links can be cut.",
)
@system_options(
    SIMULATED,
    f"Where the suites run: simulated (the reference broker in memory), {RUNNING}",
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
    on: str,
    kafka_home: Path | None,
    broker_config: Sequence[str],
    proxied: bool,
) -> None:
    """Run each SUITE, or all suites: check each claim under its condition, such as acks=all.

    A violation is shrunk to a short program that fails again when it is pasted and run.

    \b
    urteil test replication
    urteil test replication --bug no-dedup
    urteil test --outside --profile nightly
    urteil test log --on apache-kafka:4.3.0

    With --on the same programs run in real time on a running system. A run that shows a violation
    is reduced and repeated. Its program, faults and history are in the run folder. If no run with a
    configuration shows a violation, the program, faults and history of its last run are in the
    subfolder histories.

    With --outside each claim is checked outside its condition, where it must be violated.
    The exit code is then 0 if every verdict is the expected one.
    """
    from properties.suites.delivery.stores import opening
    from properties.suites.registry import SUITES, suite_named
    from properties.suites.search.profiles import profile_named
    from reference_impl.node.bugs import bugs_named

    if runs is not None and runs < 1:
        raise InputFault(f"--runs {runs}: must be at least 1")
    if outside and bugs:
        raise InputFault("--outside switches on bugs itself: leave out --bug")
    thorough = profile_named(profile)
    if runs is not None:
        thorough = replace(thorough, runs=runs)
    check_system(on, bugs, kafka_home, broker_config, proxied=proxied)
    chosen = [suite_named(name) for name in suites or SUITES]
    seeded = bugs_named(*bugs)
    run.judged_by_expectation = outside
    with opening.in_postgres(postgres):
        if any(suite.name == STORES for suite in chosen):
            opening.check_store()
        elif postgres is not None:
            run.note(f"--postgres: only the suite {STORES} uses a database")
        if on != SIMULATED:
            decide_on(
                run,
                chosen,
                on,
                kafka_home=kafka_home,
                settings=broker_settings(broker_config),
                proxied=proxied,
                outside=outside,
                runs=runs,
            )
            return
        for suite in chosen:
            for seed in range(run.seed, run.seed + thorough.seeds):
                if outside:
                    for side in suite.outside:
                        decide(run, suite, side, thorough, seed)
                else:
                    inside(run, suite, seeded, thorough, seed)


def check_system(
    on: str,
    bugs: Sequence[str],
    kafka_home: Path | None,
    broker_config: Sequence[str],
    *,
    proxied: bool,
) -> None:
    """Raises InputFault if an option of `urteil test` is not allowed with the system `on`."""
    if on == SIMULATED and (kafka_home is not None or broker_config or proxied):
        raise InputFault("--kafka-home, --broker-config and --proxied need --on apache-kafka")
    if on != SIMULATED and bugs:
        raise InputFault(f"--bug: {on} has no seeded bugs; use --on {SIMULATED}")


def inside(run: Run, suite: Suite, bugs: Bugs, profile: Profile, seed: int) -> None:
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
            progress=progress_of(run, suite.name),
        )
    except KeyboardInterrupt:
        for claim in dict.fromkeys(side.claim for side in suite.inside):
            open_claim = deciding.ClaimVerdict(claim=claim, outcome="undecided", why="interrupted")
            seconds = round(time.monotonic() - started, 2)
            emit(run, suite, open_claim, None, bug_names(bugs), seconds, "")
        raise
    breaks = {claim for row in SEEDED_BUGS if row.bug in bugs for claim in row.breaks}
    seconds = round(time.monotonic() - started, 2)
    again = replay_of_suite(suite, seed, profile) + bug_options(bugs)
    for verdict in found.verdicts:
        expected: Verdict | None = "holds"
        if bugs:
            must_fail = verdict.claim in breaks and verdict.outcome != "undecided"
            expected = "violated" if must_fail else None
        emit(run, suite, verdict, expected, bug_names(bugs), seconds, again)
    rate = found.broker_steps / found.cpu_seconds if found.cpu_seconds else 0.0
    run.emit(Measured(metric=f"{suite.name}: runs", value=found.runs))
    run.emit(Measured(metric=f"{suite.name}: broker steps per CPU second", value=round(rate)))


def decide(run: Run, suite: Suite, side: Side, profile: Profile, seed: int) -> None:
    """Searches for a violation of a claim with random programs (lists of calls), and emits the
    verdict.

    `side` has the claim, the setting in which the programs run, such as acks=1, and the expected
    verdict.
    """
    from properties.suites.search import deciding

    started = time.monotonic()
    verdict = deciding.decide(
        suite,
        side,
        seed=seed,
        runs=profile.runs,
        rules=profile.rules,
        progress=progress_of(run, str(side)),
    )
    variant = ", ".join(filter(None, (side.setting, bug_names(side.bugs))))
    seconds = round(time.monotonic() - started, 2)
    again = f"{replay_of_suite(suite, seed, profile)} --outside"
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
    from properties.claims.catalogue import BY_ID

    claim = BY_ID.get(verdict.claim)  # None for progress, which is not in the catalogue
    is_wanted = run.judged_by_expectation and expected == "violated"
    walks = [] if is_wanted else [*_walks(run, suite, verdict)]
    if verdict.outcome != "holds":
        for program in verdict.programs:
            where = ", ".join(filter(None, (suite.name, variant)))
            title = f"✗ {verdict.claim}  {verdict.outcome}  ({where})"
            text = f"{title}\n  {verdict.why}\n\n{program}# replay: {again}"
            text = "\n".join([text, *(f"# walk:   {line}" for line in walks)])
            file, as_expected = f"{suite.name}-{verdict.claim}.txt", expected == "violated"
            run.keep(verdict.claim, text, file, verdict_expected=as_expected)
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


def _walks(run: Run, suite: Suite, verdict: ClaimVerdict) -> Iterator[str]:
    """Writes the simulated run that violates a claim to the run folder, as traces of specs. Each
    trace explains the run by the steps of one spec.

    Yields the commands that open the traces.
    """
    from checkers.report.simulated_run import traces_of

    traces = sorted(traces_of(verdict.events), key=lambda trace: trace.refused is None)
    for trace in traces:
        opening = keep_trace(run, verdict.claim, trace, f"{suite.name}-{verdict.claim}-")
        if opening is not None:
            yield opening


def replay_of_suite(suite: Suite, seed: int, profile: Profile) -> str:
    from properties.suites.delivery.stores import opening

    words = ["urteil", "test", suite.name, "--seed", str(seed), "--profile", profile.name]
    words += ["--runs", str(profile.runs)]
    if (dsn := opening.chosen_server()) is not None:
        words += ["--postgres", dsn]
    return shlex.join(words)


def progress_of(run: Run, what: str) -> Callable[[Tally], None]:
    return lambda tally: run.progress(
        f"{what}: {tally.runs:,} runs, {tally.broker_steps:,} broker steps"
    )


def bug_options(bugs: Bugs) -> str:
    return "".join(sorted(f" --bug {bug.value}" for bug in bugs))


def bug_names(bugs: Bugs) -> str | None:
    return ", ".join(sorted(f"bug {bug.value}" for bug in bugs)) or None
