"""`urteil analyze`: decides the anomalies of a history, on Spark or in this process."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from checkers.cli.declaring import declared_of, declaring
from checkers.cli.following import followed
from checkers.cli.log_dirs import auditing
from checkers.cli.run import Run, command, replay
from checkers.events import AnomalyDecided, DeliveryDecided, Measured
from checkers.verdicts import Verdict
from model.faults import InputFault
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

if TYPE_CHECKING:
    from checkers.histories.analysis import Analysis


@click.command("analyze")
@click.option(
    "--anomaly",
    "anomalies",
    multiple=True,
    help="Only this one; repeatable: urteil list anomalies.",
)
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    default="spark",
    show_default=True,
    help="local: in this process; the same verdicts.",
)
@click.option("--master", help="Of a Spark cluster. Default: this machine, all cores.")
@click.option("--follow", is_flag=True, help="While it is recorded: each verdict that is new.")
@declaring
@command()
@auditing
def analyze_command(
    run: Run,
    history: Path,
    anomalies: Sequence[str],
    engine: str,
    master: str | None,
    follow: bool,
    **said: Any,
) -> None:
    """Decide the anomalies of HISTORY: a recorded folder, Parquet, NDJSON or Jepsen's EDN.

    With --log-dirs audit the folders in which brokers keep their logs.

    \b
    urteil analyze runs/2026-11-21T0142-c3f1/history
    urteil analyze history.edn --anomaly lost-write --engine local
    urteil analyze --log-dirs broker-1 broker-2 broker-3
    urteil analyze runs/2026-11-21T0142-c3f1/history --follow
    """
    chosen = tuple(anomalies)
    if engine == "local" and master is not None and _typed("engine") and _typed("master"):
        raise InputFault(
            f"--engine local --master {master}: only Spark has a master; leave out one"
        )

    def now() -> Analysis:
        return analysis(run, history, chosen, declared_of(history, **said), engine, master)

    with followed(run, history, engine, master, now) if follow else nullcontext():
        decide(
            run,
            history,
            anomalies=chosen,
            declared=declared_of(history, **said),
            engine=engine,
            master=master,
        )


def _typed(option: str) -> bool:
    """It stands in the command, and not in a file of settings."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def decide(
    run: Run,
    history: Path,
    *,
    anomalies: tuple[str, ...] = (),
    declared: Declarations = NOTHING_DECLARED,
    engine: str = "spark",
    master: str | None = None,
    expected: Mapping[str, Verdict] | None = None,
    title: str | None = None,
) -> Analysis:
    """Analyses, shows what was found, keeps every row of it, and returns it."""
    told = title or str(history)
    try:
        from checkers.histories.io.faults import faults
        from checkers.report.anomalies import explained, keep_rows
        from checkers.report.rows_shown import faults_shown, rows_shown

        happened = faults(history)
        found = analysis(run, history, anomalies, declared, engine, master)
    except KeyboardInterrupt:
        undecided(run, told, anomalies, declared, "interrupted")
        raise
    for broken in found.broken:
        run.note(f"{told}: assumption {broken.assumption.id} is broken, {broken.count} times")
    right: Mapping[str, Verdict] = expected or {}
    known = all(right.get(d.anomaly.id) == d.verdict for d in found.decisions)
    chosen = [word for anomaly in anomalies for word in ("--anomaly", anomaly)]
    again = shlex.join(["urteil", "analyze", str(history), *chosen]) if title else replay()
    text = f"{explained(found, verbose=run.verbose > 0).rstrip()}\n\nreplay  {again}"
    run.keep(told, text, "anomalies.txt", verdict_expected=known)
    kept: Mapping[str, str] = {}
    if run.folder is not None:
        kept = keep_rows(found, run.folder.path, "-".join(["anomalies", *(title or "").split()]))
    suffered = faults_shown(happened, found)
    for decision in found.decisions:
        for row in rows_shown(found, decision, told, suffered):
            run.emit(row)
        anomaly = decision.anomaly
        run.emit(
            AnomalyDecided(
                anomaly=anomaly.id,
                statement=anomaly.statement,
                rule=anomaly.rule,
                explanation=anomaly.explanation,
                source=anomaly.source,
                verdict=decision.verdict,
                expected=right.get(anomaly.id),
                count=decision.count,
                permitted=decision.permitted,
                observations=decision.observations,
                history=told,
                reason=decision.reason,
                file=kept.get(anomaly.id),
                replay=_replay(history, anomaly.id, alone=title is None, chosen=anomalies),
            )
        )
    _emit_delivery(run, told, found)
    run.emit(Measured(what=f"{told}: operations", value=found.operations))
    return found


def _emit_delivery(run: Run, history: str, found: Analysis) -> None:
    """Which delivery semantics the history satisfies, if anybody was delivered anything."""
    from properties.delivery import breaking, strongest

    semantics, delivered = strongest(found.delivered), found.delivered
    if semantics is None:
        return
    run.emit(
        DeliveryDecided(
            history=history,
            semantics=semantics,
            applications=dict(sorted(Counter(it.semantics for it in delivered).items())),
            records=sum(it.records for it in delivered),
            repeated=sum(it.repeated for it in delivered),
            skipped=sum(it.skipped for it in delivered),
            breaks=tuple(it.in_words() for it in breaking(delivered)),
        )
    )


def _replay(history: Path, anomaly: str, *, alone: bool, chosen: Sequence[str]) -> str:
    """What to type to decide this one again, as it was asked for."""
    again = replay() if alone else shlex.join(["urteil", "analyze", str(history)])
    return again if alone and chosen else f"{again} --anomaly {anomaly}"


def undecided(
    run: Run, history: str, anomalies: Sequence[str], declared: Declarations, reason: str
) -> None:
    """Says of every anomaly that was asked for why nobody knows."""
    from properties.anomalies.catalogue import named

    for anomaly in named(tuple(anomalies), declared):
        run.emit(
            AnomalyDecided(
                anomaly=anomaly.id,
                verdict="undecided",
                count=0,
                permitted=False,
                history=history,
                reason=reason,
            )
        )


def analysis(
    run: Run,
    history: Path,
    anomalies: tuple[str, ...],
    declared: Declarations,
    engine: str,
    master: str | None,
) -> Analysis:
    """The analysis by the engine that was asked for."""
    if engine == "local":
        from checkers.histories.analysis import analyze

        return analyze(history, anomalies=anomalies, declared=declared, watch=run.progress)
    from checkers.spark.run import analyze_on_spark

    return analyze_on_spark(
        history, anomalies=anomalies, declared=declared, master=master, watch=run.progress
    )
