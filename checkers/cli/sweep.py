"""`urteil sweep`: the simulated reference broker from many seeds, every history analysed."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers.cli import selection
from checkers.cli.run import Run, command
from checkers.events import AnomalyDecided, Measured, PropertyDecided
from checkers.progress import Progress
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.sweeping import Judged, Swept

PROGRESS: Final = "progress"
STATEMENT: Final = "Once faults have ended, everything is in order again in bounded virtual time."
KEPT: Final = 3  # runs of a sweep whose histories and traces are kept
NAMED: Final = 8  # seeds that a reason names


@click.command("sweep")
@click.argument("sweep", default="publish")
@click.option("--seeds", default="0..99", show_default=True, help="From which to which, or one.")
@click.option("--bug", "bugs", multiple=True, help="A seeded bug, on purpose: urteil list bugs.")
@click.option("--liveness", is_flag=True, help="Faults end for a core alone: others are gone.")
@click.option("--master", help="A Spark cluster: seeds become tasks. Else all cores of this one.")
@click.option("--budget", help="Such as 60s: seeds that are not reached by then stay open.")
@command()
def sweep_command(
    run: Run,
    sweep: str,
    seeds: str,
    bugs: Sequence[str],
    liveness: bool,
    master: str | None,
    budget: str | None,
) -> None:
    """Run SWEEP: each seed is a workload under faults of its own; its history is analysed.

    \b
    urteil sweep publish
    urteil sweep machines --seeds 0..999 --budget 60s
    urteil sweep publish --seeds 17 --bug no-dedup

    The first runs that are convicted are kept in the run folder: history and trace.
    """
    from checkers.sweeping import Swept
    from reference_impl.node.bugs import bugs_named
    from reference_impl.simulation.sweeps import sweep_named

    sweep_named(sweep)
    swept = Swept(sweep=sweep, bugs=bugs_named(*bugs), liveness=liveness)
    found: list[Judged] = []
    chosen = numbered(seeds)
    _, seconds = selection.budget(budget)
    if budget is not None and seconds is None:
        raise InputFault(f"--budget {budget}: a sweep has a budget of time: write 60s")
    try:
        for judged in within(seconds, judging(swept, chosen, master)):
            found.append(judged)
            run.progress(Progress(stage=f"seeds of {sweep}", done=len(found), total=len(chosen)))
    finally:
        if found:
            tell(run, swept, chosen, found)


def numbered(seeds: str) -> range:
    """`17` or `0..99`; InputFault."""
    told = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", seeds)
    if told is None or int(told[2] or told[1]) < int(told[1]):
        raise InputFault(f"--seeds {seeds}: write one, as 17, or the first and the last, as 0..99")
    return range(int(told[1]), int(told[2] or told[1]) + 1)


def judging(swept: Swept, seeds: range, master: str | None) -> Iterator[Judged]:
    """The verdicts as they come."""
    if master is None:
        from checkers.sweeping import judged_in_processes

        return judged_in_processes(swept, seeds)
    from checkers.spark.sweeping import judged_on_spark

    return judged_on_spark(swept, seeds, master)


def within(seconds: float | None, verdicts: Iterator[Judged]) -> Iterator[Judged]:
    """Those that come within the budget, one at least."""
    deadline = None if seconds is None else time.monotonic() + seconds
    for judged in verdicts:
        yield judged
        if deadline is not None and time.monotonic() >= deadline:
            return


def tell(run: Run, swept: Swept, seeds: range, found: Sequence[Judged]) -> None:
    """The verdicts of all seeds together; the first convicted runs are kept."""
    convicted = sorted(judged.seed for judged in found if judged.occurs or judged.stuck)
    stuck = {judged.seed for judged in found if judged.stuck}
    if run.folder is not None:
        from checkers.sweeping import keep

        for seed in [seed for seed in convicted if seed not in stuck][:KEPT]:
            keep(swept, seed, Path(run.folder.path) / f"seed-{seed}")
    judged = f"{len(found):,} of {len(seeds):,} seeds"
    tell_progress(run, swept, found, judged)
    tell_anomalies(run, swept, found, judged)
    cpu_s = sum(it.cpu_s for it in found)
    for what, value in (
        ("seeds", len(found)),
        ("operations", sum(it.operations for it in found)),
        ("broker steps", sum(it.broker_steps for it in found)),
    ):
        run.emit(Measured(what=f"{swept.sweep}: {what}", value=value))
    run.emit(Measured(what=f"{swept.sweep}: CPU seconds", value=round(cpu_s, 1), unit="s"))


def tell_progress(run: Run, swept: Swept, found: Sequence[Judged], judged: str) -> None:
    """Whether every cluster recovered."""
    stuck = sorted((it.seed, it.stuck) for it in found if it.stuck)
    why = f"seed {stuck[0][0]}: {stuck[0][1]}; {len(stuck)} of them" if stuck else judged
    run.emit(
        PropertyDecided(
            property=PROGRESS,
            statement=STATEMENT,
            verdict="violated" if stuck else "holds",
            engine="simulation",
            spec=swept.sweep,
            variant=named(swept) or None,
            reason=why,
        )
    )


def tell_anomalies(run: Run, swept: Swept, found: Sequence[Judged], judged: str) -> None:
    """Each anomaly that some history could have shown."""
    from properties.anomalies.catalogue import CATALOGUE

    occurs, observations = Counter[str](), Counter[str]()
    for it in found:
        occurs.update(it.occurs)
        observations.update(it.observations)
    for anomaly in CATALOGUE:
        if not observations[anomaly.id]:
            continue
        seeds = sorted(it.seed for it in found if anomaly.id in it.occurs)
        shown = ", ".join(map(str, seeds[:NAMED])) + (", ..." if len(seeds) > NAMED else "")
        run.emit(
            AnomalyDecided(
                anomaly=anomaly.id,
                statement=anomaly.statement,
                rule=anomaly.rule,
                explanation=anomaly.explanation,
                source=anomaly.source,
                verdict="violated" if seeds else "holds",
                count=occurs[anomaly.id],
                permitted=False,
                observations=observations[anomaly.id],
                history=f"{swept.sweep}: {judged}",
                over="sweep",
                reason=f"in {len(seeds)} of {len(found)} seeds: {shown}" if seeds else None,
                replay=replayed(swept, seeds[0]) if seeds else None,
            )
        )


def named(swept: Swept) -> str:
    """What is unusual about it."""
    told = [*(f"bug {bug}" for bug in sorted(bug.value for bug in swept.bugs))]
    return ", ".join([*told, *["liveness"] * swept.liveness])


def replayed(swept: Swept, seed: int) -> str:
    """The command that judges one seed again, and keeps its history."""
    bugs = [word for bug in sorted(b.value for b in swept.bugs) for word in ("--bug", bug)]
    live = ["--liveness"] if swept.liveness else []
    return shlex.join(["urteil", "sweep", swept.sweep, "--seeds", str(seed), *bugs, *live])
