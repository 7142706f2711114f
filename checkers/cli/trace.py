"""`urteil trace`: checks brokers' TRACE logs against a spec, and reports lost records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers.cli.command import command, replay_command
from checkers.cli.kept_traces import keep_trace
from checkers.cli.run import Run
from checkers.cli.system_options import system_options
from checkers.events import Measured, PropertyDecided
from checkers.progress import Progress
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.record.options import Workload
    from checkers.tracing.following import Followed, Forbidden
    from checkers.tracing.losses import Kind
    from checkers.tracing.reading import Reading
    from checkers.tracing.replication import PartitionReplication
    from checkers.verdicts import Verdict

STATEMENT: Final = "Always: each logged step is a step of the spec."
KEPT: Final = "Always: no leader begins without a committed record."
NOT_LOGGED: Final = "none of {:,} lines shows its first step"
ENGINE: Final = "trace"
SUFFIXES: Final = (".log", ".log.gz")


@click.command("trace")
@click.argument("paths", metavar="[LOGS]...", nargs=-1, type=click.Path(path_type=Path))
@system_options(None, "System to record a short campaign on, and to follow: apache-kafka:VERSION.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    type=click.Choice(["kill", "pause", "last-standing"]),
    help="Kind of rounds of faults of the campaign; repeatable. Default: kill.",
)
@click.option(
    "--workload",
    type=click.Choice(["append-and-read", "transactions"]),
    default="append-and-read",
    show_default=True,
    help="Workload of the campaign.",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="TOPIC-N",
    help="Follow only this partition; repeatable. Default: each one whose creation is logged.",
)
@click.option(
    "--transactional-id",
    "ids",
    multiple=True,
    metavar="ID",
    help="Follow only this transactional id; repeatable. Default: each one that is logged.",
)
@click.option(
    "--ahead-ms",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="Longest time between an event and the log line that shows it, in ms.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(["unclean-election", "last-known-leader", "lost-log"]),
    help="Steps that may lose committed records; repeatable. Such losses are shown and permitted.",
)
@command()
def trace_command(
    run: Run,
    paths: Sequence[Path],
    partitions: Sequence[str],
    ids: Sequence[str],
    ahead_ms: int,
    allowed: Sequence[Kind],
    on: str | None,
    kafka_home: Path | None,
    broker_config: Sequence[str],
    faults: Sequence[str],
    workload: Workload,
) -> None:
    """Follow LOGS, the TRACE logs of all brokers and controllers, step by step through a spec.

    The events of a partition are matched with the spec replication-abstract. If lines name the
    producers of its batches, the events are also matched with idempotence-abstract. The events of a
    transactional id are matched with transactions-abstract.

    \b
    urteil trace broker-*.log controller-*.log
    urteil trace logs/ --partition orders-0
    urteil trace runs/2026-11-23T0142-c3f1/cluster
    urteil trace --on apache-kafka:4.3.0 --fault pause

    Each of LOGS is a file, a folder, or the folder of a cluster that urteil record --traced
    started. A file may be compressed as .gz. In a folder, the files *.log and *.log.gz are read. A
    node may have several files; a file has the lines of one node. The first step that the spec
    forbids is shown with the spec's state and with the lines around it.
    docs/how-to/trace-a-broker.md has the log4j2 configuration.

    The spec allows three steps that may lose committed records: an unclean election, the election
    of the last known leader, and a restart with a log that lost its end. If committed records are
    lost, this is a violation, unless --allow names the step.
    """
    from checkers.cli.trace_on import Campaign, recorded
    from checkers.tracing import idempotence, replication, transactions
    from checkers.tracing.explaining import explained
    from checkers.tracing.following import follow
    from checkers.tracing.log_lines import log_lines
    from checkers.tracing.outcomes import Refused
    from checkers.tracing.reading import read

    if (on is None) == (not paths):
        raise InputFault("name either the LOGS to follow, or a system with --on")
    if on is not None:
        campaign = Campaign(
            on=on,
            kafka_home=kafka_home,
            broker_config=broker_config,
            faults=faults,
            workload=workload,
        )
        paths = [recorded(run, campaign)]
    files = [file for path in paths for file in _files(path)]
    found = read(log_lines(files))
    _emit_reading(run, found)
    every: list[Followed] = []
    for spec, begin, traces, chosen in (
        (replication.SPEC, replication.PartitionReplication.of, found.partitions, partitions),
        (idempotence.SPEC, idempotence.PartitionIdempotence.of, found.with_producers, partitions),
        (transactions.SPEC, transactions.TransactionalId.of, found.transactional_ids, ids),
    ):
        for subject in dict.fromkeys(chosen) or (() if partitions or ids else traces):
            events = traces.get(subject)
            if events is None and spec == idempotence.SPEC:
                continue  # its batches have no producer ids
            if events is None:
                run.emit(_decided(spec, subject, "undecided", NOT_LOGGED.format(found.lines)))
                continue
            progress = partial(_progress, run, subject, len(events))
            begun = begin(events)
            followed = follow(begun, events, ahead_ms=ahead_ms, progress=progress)
            every.append(followed)
            walk = None
            if not isinstance(begun, Refused):
                walk = keep_trace(run, subject, explained(spec, begun, events, followed))
            _emit(run, spec, followed, walk)
            if isinstance(begun, replication.PartitionReplication) and begun.facts.lossy:
                _emit_losses(run, subject, begun, allowed)
    if not (found.partitions or partitions or ids):
        reason = (
            f"none of {found.lines:,} lines creates a partition: start the trace before the topic"
            " is created, and include the controllers' files"
        )
        run.emit(_decided(replication.SPEC, "any partition", "undecided", reason))
    _emit_totals(run, every, ahead_ms)


def _progress(run: Run, subject: str, total: int, done: int) -> None:
    run.progress(Progress(stage=f"events of {subject}", done=done, total=total))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # the nodes' traces in the folder of a cluster that `urteil record --traced` started
    if traces := sorted(path.rglob("trace.log")):
        return traces
    return sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))


def _emit_reading(run: Run, found: Reading) -> None:
    run.emit(Measured(metric="lines", value=found.lines))
    run.emit(Measured(metric="lines that no row of the table fits", value=len(found.unknown)))
    for line in found.unknown[:3]:
        run.note(f"no row of the table fits {line.place}: {line.logger} {line.message[:120]}")


def _emit_totals(run: Run, every: Sequence[Followed], ahead_ms: int) -> None:
    latest_ns = max((followed.latest_ns for followed in every), default=0)
    for metric, value, unit in (
        ("events", sum(followed.events for followed in every), ""),
        ("actions of the spec", sum(followed.actions.total() for followed in every), ""),
        ("events taken early", sum(followed.early for followed in every), ""),
        ("earliest by", round(latest_ns / 1e6, 1), f"of {ahead_ms} ms"),
    ):
        run.emit(Measured(metric=metric, value=value, unit=unit))


def _emit(run: Run, spec: str, followed: Followed, walk: str | None) -> None:
    subject, forbidden = followed.subject, followed.forbidden
    if forbidden is None:
        reason = (
            f"{followed.taken:,} of {followed.events:,} events taken, {followed.early:,} early,"
            f" {followed.actions.total():,} actions"
        )
        run.emit(_decided(spec, subject, "holds", reason))
        return
    text = f"{_explained(followed, forbidden)}\n\nreplay  {replay_command()}"
    if walk is not None:
        text += f"\n        {walk}"
    run.keep(subject, text, f"trace-{_in_file_name(subject)}.txt")
    reason = (
        f"{forbidden.event.line.place}, event {forbidden.number + 1:,} of {followed.events:,}: "
        f"{forbidden.why}"
    )
    verdict: Verdict = "undecided" if forbidden.is_outside else "violated"
    run.emit(_decided(spec, subject, verdict, reason, forbidden.number))


def _emit_losses(
    run: Run, partition: str, followed: PartitionReplication, allowed: Sequence[Kind]
) -> None:
    losses = followed.losses
    lines = [*map(str, losses)] or ["no committed record is lost"]
    text = "\n".join([f"{partition}:", *lines, "", "steps that may lose committed records:"])
    steps = "".join(f"\n  {step}" for step in followed.facts.lossy)
    run.keep(partition, text + steps, f"losses-{_in_file_name(partition)}.txt")
    reason = "; ".join(lines)
    broken = [loss for loss in losses if not loss.is_allowed(allowed)]
    if losses and not broken:
        reason += f" (permitted by --allow {' --allow '.join(dict.fromkeys(allowed))})"
    run.emit(
        PropertyDecided(
            property=f"{partition}, committed records",
            statement=KEPT,
            verdict="violated" if broken else "holds",
            engine=ENGINE,
            spec="replication-abstract",
            variant="with-losses",
            reason=reason,
        )
    )


def _in_file_name(subject: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", subject)


def _decided(
    spec: str, subject: str, verdict: Verdict, reason: str, length: int | None = None
) -> PropertyDecided:
    return PropertyDecided(
        property=subject,
        statement=STATEMENT,
        verdict=verdict,
        engine=ENGINE,
        spec=spec,
        trace_length=length,
        reason=reason,
    )


def _explained(followed: Followed, forbidden: Forbidden) -> str:
    event = forbidden.event
    verb = "is no step of this spec" if forbidden.is_outside else "is forbidden"
    start = forbidden.around[0].line.at_ns
    around = [
        f"  {'✗' if other is event else ' '} {(other.line.at_ns - start) / 1e6:9.3f} ms  "
        f"{other}  {other.line.place}"
        for other in forbidden.around
    ]
    return "\n".join(
        [
            f"{followed.subject}: event {forbidden.number + 1:,} of {followed.events:,} {verb}",
            f"  {event.line.place}",
            f"  {event}",
            f"  {forbidden.why}",
            "",
            "The state of the spec before the event:",
            *(f"  {line}" for line in forbidden.state),
            "",
            "Events around it, by the clock of the nodes:",
            *around,
            "",
            "The line:",
            f"  {event.line.message}",
        ]
    )
