"""`urteil trace`: follows TRACE logs of brokers through a spec."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers.cli.run import Run, command, replay_command
from checkers.events import Measured, PropertyDecided
from checkers.progress import Progress

if TYPE_CHECKING:
    from checkers.tracing.following import Followed, Forbidden
    from checkers.tracing.reading import Reading
    from checkers.verdicts import Verdict

STATEMENT: Final = "Always: each logged step is a step of the spec."
NOT_LOGGED: Final = "none of {:,} lines shows its first step"
ENGINE: Final = "trace"
SUFFIXES: Final = (".log", ".log.gz")


@click.command("trace")
@click.argument(
    "paths", metavar="LOGS...", nargs=-1, required=True, type=click.Path(path_type=Path)
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
    help="How much later a line may have been written than what it shows, in ms.",
)
@command()
def trace_command(
    run: Run,
    paths: Sequence[Path],
    partitions: Sequence[str],
    ids: Sequence[str],
    ahead_ms: int,
) -> None:
    """Follow LOGS, the TRACE logs of all brokers and controllers, step by step through a spec.

    A partition is followed through replication-abstract and, if lines name the producers of its
    batches, through idempotence-abstract; a transactional id through transactions-abstract.

    \b
    urteil trace broker-*.log controller-*.log
    urteil trace logs/ --partition orders-0
    urteil trace runs/2026-11-23T0142-c3f1/cluster

    LOGS are files, plain or .gz, or folders of *.log and *.log.gz, or the folder of a cluster that
    urteil record --traced started. A node may have several files; a
    file has the lines of one node. The first step that the spec forbids is shown with the spec's
    state and with the lines around it. docs/how-to/trace-a-broker.md has the log4j2 configuration.
    """
    from checkers.tracing import idempotence, replication, transactions
    from checkers.tracing.following import follow
    from checkers.tracing.log_lines import log_lines
    from checkers.tracing.reading import read

    files = [file for path in paths for file in _files(path)]
    found = read(log_lines(files))
    _emit_reading(run, found)
    every: list[Followed] = []
    for spec, begin, traces, chosen in (
        (replication.SPEC, replication.PartitionReplication.of, found.partitions, partitions),
        (idempotence.SPEC, idempotence.PartitionIdempotence.of, found.with_producers, partitions),
        (transactions.SPEC, transactions.TransactionalId.of, found.transactional_ids, ids),
    ):
        for subject in chosen or (() if partitions or ids else traces):
            events = traces.get(subject)
            if events is None and spec == idempotence.SPEC:
                continue  # its batches have no producer ids
            if events is None:
                run.emit(_decided(spec, subject, "undecided", NOT_LOGGED.format(found.lines)))
                continue
            progress = partial(_progress, run, subject, len(events))
            followed = follow(begin(events), events, ahead_ms=ahead_ms, progress=progress)
            every.append(followed)
            _emit(run, spec, followed)
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
    """Returns the path itself, or the log files in a folder, ordered by name.

    In the folder of a cluster that `urteil record --traced` started, these are the traces of its
    nodes.
    """
    if not path.is_dir():
        return [path]
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


def _emit(run: Run, spec: str, followed: Followed) -> None:
    subject, forbidden = followed.subject, followed.forbidden
    if forbidden is None:
        reason = (
            f"{followed.taken:,} of {followed.events:,} events taken, {followed.early:,} early,"
            f" {followed.actions.total():,} actions"
        )
        run.emit(_decided(spec, subject, "holds", reason))
        return
    text = f"{_explained(followed, forbidden)}\n\nreplay  {replay_command()}"
    run.keep(subject, text, f"trace-{re.sub(r'[^A-Za-z0-9_.-]', '_', subject)}.txt")
    reason = (
        f"{forbidden.event.line.place}, event {forbidden.number + 1:,} of {followed.events:,}: "
        f"{forbidden.why}"
    )
    verdict: Verdict = "undecided" if forbidden.is_outside else "violated"
    run.emit(_decided(spec, subject, verdict, reason, forbidden.number))


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
