"""`urteil analyze`: finds the anomalies of a history, on Spark or in this process."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from checkers.cli import completion
from checkers.cli.command import command, replay_command
from checkers.cli.following import followed, followed_topic
from checkers.cli.history_options import at_version, history_options, table_version_option
from checkers.cli.importing import importing
from checkers.cli.log_dirs import HISTORY_MISSING, auditing
from checkers.cli.run import Run
from checkers.cli.topics import refuse_for_others, topic_copy, topic_options
from checkers.events import (
    DeliveryDecided,
    Evidence,
    Measured,
    PropertyDecided,
)
from checkers.plan_events import PassExplained, PassMeasured, StageExplained, StageMeasured
from checkers.verdicts import Verdict, is_expected
from model.faults import InputFault
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

if TYPE_CHECKING:
    from checkers.histories.analysis import Analysis
    from checkers.histories.io.locations import Location
    from checkers.histories.topics.address import Topic

    Follower = Callable[[Callable[[], Analysis]], AbstractContextManager[None]]


@click.command("analyze")
@click.option(
    "--anomaly",
    "anomalies",
    multiple=True,
    shell_complete=completion.anomalies,
    help="Look only for this anomaly; repeatable. See: urteil list anomalies.",
)
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    default="spark",
    show_default=True,
    help="local: in this process, without Spark; the verdicts are the same.",
)
@click.option(
    "--master", help="Spark master, such as spark://HOST:PORT. Default: all cores of this machine."
)
@click.option(
    "--spark-ui",
    is_flag=True,
    help="Serve Spark's web UI while the analysis runs; a note has its address.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Analyze a recording or a topic while it grows; print the verdicts when they change.",
)
@click.option(
    "--check-only",
    is_flag=True,
    help="Only check that HISTORY has the columns of the format, and count its operations.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Only print the query plan: what each stage reads, shuffles and keeps. Needs no Spark.",
)
@topic_options
@table_version_option
@history_options
@command(dry_with="explain")
@auditing
def analyze_command(
    run: Run,
    history: Location | Topic | None,
    anomalies: Sequence[str],
    engine: str,
    master: str | None,
    spark_ui: bool,
    follow: bool,
    check_only: bool,
    explain: bool,
    client_config: Path | None,
    schemas: str | None,
    table_version: int | None,
    **assumptions: Any,
) -> None:
    """Find anomalies in HISTORY: a recorded folder, Parquet, NDJSON, Avro, or Jepsen's EDN.

    HISTORY is a path, an address of s3://, gs://, abfss:// or hdfs://, or a glob in quotes. It may
    name a file, a folder with many files, or a Delta or Iceberg table. Credentials come from the
    environment, never from the address.
    kafka://HOST:PORT/TOPIC is a topic whose records are operations, as NDJSON or as Avro.

    With --log-dirs, audit the folders in which brokers keep their logs.

    \b
    urteil analyze --demo --engine local
    urteil analyze runs/2026-11-21T0142-c3f1/history
    urteil analyze history.edn --anomaly lost-write --engine local
    urteil analyze 's3://bucket/histories/date=2026-11-*'
    urteil analyze kafka://localhost:9092/operations
    urteil analyze --log-dirs broker-1 broker-2 broker-3
    urteil analyze runs/2026-11-21T0142-c3f1/history --follow
    urteil analyze --explain --anomaly lost-write
    """
    from checkers.histories.io.assumptions import assumptions_of
    from checkers.histories.io.sources import sources
    from checkers.histories.topics.address import Topic

    chosen = tuple(anomalies)
    if history is not None:
        history = at_version(history, table_version)
    if explain:
        if history is not None and not isinstance(history, Topic):
            sources(history)  # raises UnreadableHistory
        known = None if isinstance(history, Topic) else history
        explain_plan(run, chosen, assumptions_of(known, **assumptions))
        return
    if history is None:
        raise InputFault(HISTORY_MISSING)
    if engine == "local" and master is not None and _typed("engine") and _typed("master"):
        raise InputFault(
            f"--engine local --master {master}: only Spark has a master; leave out one of them"
        )
    if engine == "local" and spark_ui:
        raise InputFault("--engine local --spark-ui: only Spark has this UI; leave out one of them")
    refuse_for_others(history, client_config=client_config, schemas=schemas)

    def decide_now(place: Location, follower: Follower | None) -> None:
        if check_only:
            _check(run, place)
            return

        def analyze_now() -> Analysis:
            declared = assumptions_of(place, **assumptions)
            return analysis(run, place, chosen, declared, engine, master, ui=spark_ui)

        with follower(analyze_now) if follower else nullcontext():
            decide(
                run,
                place,
                anomalies=chosen,
                declared=assumptions_of(place, **assumptions),
                engine=engine,
                master=master,
                ui=spark_ui,
            )

    if isinstance(history, Topic):
        with topic_copy(run, history, client_config, schemas) as copy:
            # a reader of a growing topic has not reached its end
            assumptions["unfinished"] |= follow
            of_topic = partial(followed_topic, run, history, copy, engine, master, ui=spark_ui)
            decide_now(copy.folder, of_topic if follow else None)
    else:
        of_recording = partial(followed, run, history, engine, master, ui=spark_ui)
        decide_now(history, of_recording if follow else None)


def explain_plan(run: Run, anomalies: tuple[str, ...], declared: Declarations) -> None:
    from checkers.histories.explanation import planned
    from properties.anomalies.catalogue import named

    for number, one in enumerate(planned(named(anomalies, declared), declared), 1):
        stages = tuple(
            StageExplained(
                stage=stage.name,
                reads=stage.reads,
                keeps=stage.keeps,
                shuffled_by=stage.shuffled_by,
                used_by=stage.used_by,
                is_always=stage.is_always,
            )
            for stage in one.stages
        )
        run.emit(PassExplained(number=number, source=one.source, into=one.into, stages=stages))


def _check(run: Run, history: Location) -> None:
    from checkers.histories.io.checking import check, lines
    from checkers.histories.io.unreadable import UnreadableHistory

    checked = check(history)
    if checked.broken:
        for line in checked.broken[1:]:
            run.note(line)
        more = checked.broken_rows - 1
        others = f"; {more:,} more values break a rule" if more else ""
        raise UnreadableHistory(f"{checked.broken[0]}{others}")
    run.emit(Evidence(about=str(history), text="\n".join(lines(checked))))
    run.emit(
        PropertyDecided(
            property="history-format",
            statement="Every row has the columns of the history format, with allowed values.",
            verdict="holds" if checked.operations else "undecided",
            engine="check",
            spec=str(history),
            reason=None if checked.operations else "the history has no rows",
        )
    )


def _typed(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def decide(
    run: Run,
    history: Location,
    *,
    anomalies: tuple[str, ...] = (),
    declared: Declarations = NOTHING_DECLARED,
    engine: str = "spark",
    master: str | None = None,
    ui: bool = False,
    expected: Mapping[str, Verdict] | None = None,
    title: str | None = None,
) -> Analysis:
    with importing():
        from checkers.histories.io.assumptions import recorded_system
        from checkers.report.anomaly_events import decided, keep_rows, undecided
        from properties.anomalies.catalogue import named

    name = title or str(history)
    system = recorded_system(history)
    try:
        with importing():
            from checkers.histories.io.faults import faults
            from checkers.report.anomalies import explained, times
            from checkers.report.rows_shown import faults_shown, rows_shown

        injected = faults(history)
        found = analysis(run, history, anomalies, declared, engine, master, ui=ui)
    except KeyboardInterrupt:
        for event in undecided(named(anomalies, declared), name, "interrupted"):
            run.emit(event)
        raise
    for broken in found.broken:
        run.note(f"{name}: assumption {broken.assumption.id} is broken {times(broken.count)}")
    right: Mapping[str, Verdict] = expected or {}
    as_expected = all(is_expected(d.verdict, right.get(d.anomaly.id)) for d in found.decisions)
    chosen = [word for anomaly in anomalies for word in ("--anomaly", anomaly)]
    alone = title is None
    replay = replay_command() if alone else shlex.join(["urteil", "analyze", str(history), *chosen])
    text = f"{explained(found, verbose=run.verbose > 0).rstrip()}\n\nreplay  {replay}"
    run.keep(name, text, "anomalies.txt", verdict_expected=as_expected)
    kept: Mapping[str, str] = {}
    if run.folder is not None:
        tables = {one.anomaly.id: one.rows for one in found.decisions}
        kept = keep_rows(tables, run.folder.path, "-".join(["anomalies", *(title or "").split()]))
    suffered = faults_shown(injected, found)
    for decision in found.decisions:
        for row in rows_shown(found, decision, name, suffered):
            run.emit(row)
        anomaly = decision.anomaly
        run.emit(
            decided(
                anomaly,
                verdict=decision.verdict,
                expected=right.get(anomaly.id),
                count=decision.count,
                permitted=decision.permitted,
                observations=decision.observations,
                observed=anomaly.observes,
                history=name,
                reason=decision.reason,
                may_follow_from=tuple(one.cause for one in decision.follows),
                file=kept.get(anomaly.id),
                replay=_replay(history, anomaly.id, alone=alone, chosen=anomalies),
                system=system,
            )
        )
    _emit_delivery(run, name, found)
    _emit_costs(run, name, found)
    run.emit(Measured(metric=f"{name}: operations", value=found.operations))
    return found


def _emit_delivery(run: Run, history: str, found: Analysis) -> None:
    from properties.delivery import breaking

    delivery, delivered = found.delivery, found.delivered
    if delivery is None:
        return
    run.emit(
        DeliveryDecided(
            history=history,
            semantics=delivery.semantics,
            applications=dict(delivery.applications),
            records=sum(it.records for it in delivered),
            repeated=sum(it.repeated for it in delivered),
            skipped=sum(it.skipped for it in delivered),
            breaks=tuple(it.in_words() for it in (*breaking(delivered), *delivery.contradictions)),
        )
    )


def _emit_costs(run: Run, history: str, found: Analysis) -> None:
    for number, one in enumerate(found.passes, 1):
        costs = tuple(
            StageMeasured(
                stage=stage, seconds=round(cost.seconds, 6), rows=cost.rows, bytes=cost.bytes
            )
            for stage, cost in one.stages().items()
        )
        run.emit(
            PassMeasured(
                history=history,
                number=number,
                source=one.source,
                into=one.into,
                rows=one.rows,
                bytes=one.bytes,
                seconds=round(one.seconds, 6),
                tasks=len(one.tasks),
                skew=round(one.skew, 3),
                costs=costs,
            )
        )


def _replay(history: Location, anomaly: str, *, alone: bool, chosen: Sequence[str]) -> str:
    replay = replay_command() if alone else shlex.join(["urteil", "analyze", str(history)])
    return replay if alone and chosen else f"{replay} --anomaly {anomaly}"


def analysis(
    run: Run,
    history: Location,
    anomalies: tuple[str, ...],
    declared: Declarations,
    engine: str,
    master: str | None,
    *,
    ui: bool = False,
) -> Analysis:
    if engine == "local":
        from checkers.histories.analysis import analyze

        return analyze(history, anomalies=anomalies, declared=declared, watch=run.progress)
    from checkers.spark.run import analyze_on_spark

    return analyze_on_spark(
        history,
        anomalies=anomalies,
        declared=declared,
        master=master,
        watch=run.progress,
        ui=ui,
        note=run.note,
    )
