"""`urteil sweep`: simulates the reference broker from many seeds and analyzes each history."""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers.cli import completion, selection
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.cli.system_options import bug_option
from checkers.events import Measured, PropertyDecided
from checkers.progress import Progress
from checkers.verdicts import verdict_on
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.sweeping import Judged, Swept
    from properties.anomalies.anomaly import Anomaly

PROGRESS: Final = "progress"
STATEMENT: Final = "Once faults have ended, the cluster recovers within bounded virtual time."
KEPT: Final = 3  # failed seeds whose history and trace are written to the run folder
NAMED: Final = 8  # seeds that a reason lists


@click.command("sweep")
@click.argument("sweep", default="publish", shell_complete=completion.sweeps)
@click.option(
    "--seeds", default="0..99", show_default=True, help="Seeds: first..last, or a single one."
)
@bug_option
@click.option(
    "--liveness",
    is_flag=True,
    help="At the end, restore only the fewest brokers that can serve; the others stay down.",
)
@click.option(
    "--master", help="Spark master: each seed is a task. Default: all cores of this machine."
)
@click.option("--budget", metavar="60s", help="Stop after this time; further seeds are not run.")
@click.option(
    "--anomaly",
    "anomalies",
    metavar="ANOMALY",
    multiple=True,
    shell_complete=completion.anomalies,
    help="Of the anomalies, report only this one; repeatable. See: urteil list anomalies.",
)
@click.option(
    "--require-exercised",
    is_flag=True,
    help="Exit with 3 if no seed could have shown one of the anomalies; each workload can show"
    " some, so name them by --anomaly.",
)
@command()
def sweep_command(
    run: Run,
    sweep: str,
    seeds: str,
    bugs: Sequence[str],
    liveness: bool,
    master: str | None,
    budget: str | None,
    anomalies: tuple[str, ...],
    require_exercised: bool,
) -> None:
    """Run SWEEP: simulate a workload with faults for each seed, and analyze its history.

    
    urteil sweep publish
    urteil sweep machines --seeds 0..999 --budget 60s
    urteil sweep publish --seeds 17 --bug no-dedup
    urteil sweep publish --anomaly lost-write --require-exercised

    For the first three seeds with an anomaly, the run folder contains the history and the trace. A
    seed with which the cluster makes no progress is not one of these three. Without --anomaly and
    --require-exercised, an anomaly that no seed could have shown is left out.
    """
    from checkers.sweeping import Swept
    from properties.anomalies.catalogue import named
    from reference_impl.node.bugs import bugs_named
    from reference_impl.simulation.sweeps import sweep_named

    sweep_named(sweep)
    swept = Swept(sweep=sweep, bugs=bugs_named(*bugs), liveness=liveness)
    run.require_exercised = require_exercised
    reported = named(anomalies)
    found: list[Judged] = []
    chosen = seed_range(seeds)
    _, seconds = selection.budget(budget)
    if budget is not None and seconds is None:
        raise InputFault(f"--budget {budget}: write a time such as 60s")
    try:
        for judged in until_budget(seconds, verdicts_of(swept, chosen, master)):
            found.append(judged)
            run.progress(Progress(stage=f"seeds of {sweep}", done=len(found), total=len(chosen)))
    finally:
        if found:
            observed = {name for judged in found for name in judged.observations}
            if not (anomalies or require_exercised):
                reported = tuple(one for one in reported if one.id in observed)
            emit_verdicts(run, swept, chosen, found, reported)


def seed_range(seeds: str) -> range:
    """Returns the seeds in a text such as `17` or `0..99`. Raises InputFault for a
    malformed text.
    """
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", seeds)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise InputFault(f"--seeds {seeds}: write one seed, such as 17, or a range, such as 0..99")
    return range(int(match[1]), int(match[2] or match[1]) + 1)


def verdicts_of(swept: Swept, seeds: range, master: str | None) -> Iterator[Judged]:
    if master is None:
        from checkers.sweeping import judged_in_processes

        return judged_in_processes(swept, seeds)
    from checkers.spark.sweeping import judged_on_spark

    return judged_on_spark(swept, seeds, master)


def until_budget(seconds: float | None, verdicts: Iterator[Judged]) -> Iterator[Judged]:
    """Yields results of seeds until the time budget is spent. Yields at least one result, and all
    results if `seconds` is None.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    for judged in verdicts:
        yield judged
        if deadline is not None and time.monotonic() >= deadline:
            return


def emit_verdicts(
    run: Run,
    swept: Swept,
    seeds: range,
    found: Sequence[Judged],
    anomalies: Sequence[Anomaly],
) -> None:
    """Emits one verdict for each property and for each of `anomalies` over all seeds, and the
    counts and the CPU time of the run.

    Saves the histories of the first three seeds in which one of `anomalies` occurred and the
    cluster made progress.
    """
    ids = {anomaly.id for anomaly in anomalies}
    shown = sorted(it.seed for it in found if not it.stuck and not ids.isdisjoint(it.occurs))
    if run.folder is not None:
        from checkers.sweeping import save_run

        for seed in shown[:KEPT]:
            save_run(swept, seed, Path(run.folder.path) / f"seed-{seed}")
    judged = f"{len(found):,} of {len(seeds):,} seeds"
    emit_progress(run, swept, found, judged)
    emit_anomalies(run, swept, found, judged, anomalies)
    cpu_s = sum(it.cpu_s for it in found)
    for what, value in (
        ("seeds", len(found)),
        ("operations", sum(it.operations for it in found)),
        ("broker steps", sum(it.broker_steps for it in found)),
    ):
        run.emit(Measured(metric=f"{swept.sweep}: {what}", value=value))
    run.emit(Measured(metric=f"{swept.sweep}: CPU seconds", value=round(cpu_s, 1), unit="s"))


def emit_progress(run: Run, swept: Swept, found: Sequence[Judged], judged: str) -> None:
    """Emits the verdict on the property `progress`: with every seed, the cluster recovers after the
    faults.
    """
    stuck = sorted((it.seed, it.stuck) for it in found if it.stuck)
    why = f"seed {stuck[0][0]}: {stuck[0][1]}; in {len(stuck)} seeds" if stuck else judged
    run.emit(
        PropertyDecided(
            property=PROGRESS,
            statement=STATEMENT,
            verdict="violated" if stuck else "holds",
            engine="simulation",
            spec=swept.sweep,
            variant=variant_name(swept) or None,
            reason=why,
        )
    )


def emit_anomalies(
    run: Run,
    swept: Swept,
    found: Sequence[Judged],
    judged: str,
    anomalies: Sequence[Anomaly],
) -> None:
    """Emits a verdict on each of `anomalies`. The verdict is `not exercised` if none of the
    simulated histories could have shown the anomaly.
    """
    from checkers.report.anomaly_events import decided

    occurs, observations = Counter[str](), Counter[str]()
    for it in found:
        occurs.update(it.occurs)
        observations.update(it.observations)
    for anomaly in anomalies:
        seeds = sorted(it.seed for it in found if anomaly.id in it.occurs)
        shown = ", ".join(map(str, seeds[:NAMED])) + (", ..." if len(seeds) > NAMED else "")
        run.emit(
            decided(
                anomaly,
                verdict=verdict_on(len(seeds), observations[anomaly.id]),
                count=occurs[anomaly.id],
                permitted=False,
                observations=observations[anomaly.id],
                history=f"{swept.sweep}: {judged}",
                input_kind="sweep",
                reason=f"in {len(seeds)} of {len(found)} seeds: {shown}" if seeds else None,
                replay=replay_of_seed(swept, seeds[0]) if seeds else None,
            )
        )


def variant_name(swept: Swept) -> str:
    """Returns a text with the bugs that a sweep injects. If the sweep checks liveness, the text
    also has the word `liveness`. If there are no bugs and no liveness, the text is empty.
    """
    bugs = [f"bug {bug}" for bug in sorted(bug.value for bug in swept.bugs)]
    return ", ".join([*bugs, *["liveness"] * swept.liveness])


def replay_of_seed(swept: Swept, seed: int) -> str:
    bugs = [word for bug in sorted(b.value for b in swept.bugs) for word in ("--bug", bug)]
    live = ["--liveness"] if swept.liveness else []
    return shlex.join(["urteil", "sweep", swept.sweep, "--seeds", str(seed), *bugs, *live])
