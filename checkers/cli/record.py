"""`urteil record`: runs a workload of real clients on a cluster and records its history."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cli import completion
from checkers.cli.run import Run, command
from checkers.events import Measured
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.record.client_config import Acks
    from checkers.record.options import RecordOptions, Workload
    from checkers.record.recording import RecordResult
    from model.histories import Isolation

DROPPING = ("drop-response:every=11",)
HISTORY = "history"
BROKER_LOG = "broker.ndjson"
FAULTS = "faults.ndjson"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBroker:
    """The reference broker that `urteil record` starts if no cluster is named."""

    brokers: int = 3
    faults: Sequence[str] = DROPPING
    bugs: Sequence[str] = ()


@click.command("record")
@click.option(
    "--bootstrap-servers", help="HOST:PORT of the cluster. Default: a reference broker is started."
)
@click.option(
    "--client-config",
    type=click.Path(path_type=Path),
    help="Properties file for the clients, in librdkafka's keys: TLS, SASL.",
)
@click.option(
    "--workload",
    type=click.Choice(["append-and-read", "transactions"]),
    default="append-and-read",
    show_default=True,
    help="transactions: members of a group consume, transform and produce.",
)
@click.option("--topic", help="Name of the topic to create. Default: a new, random name.")
@click.option("--partitions", default=4, show_default=True, help="Partitions of the topic.")
@click.option(
    "--replication-factor",
    default=-1,
    show_default=True,
    help="Replicas of each partition; -1: the cluster's default.",
)
@click.option(
    "--producers", default=3, show_default=True, help="Producers; two threads send through each."
)
@click.option(
    "--consumers", default=2, show_default=True, help="Consumers; each reads every partition."
)
@click.option("--sends", default=2_000, show_default=True, help="Records to send, in total.")
@click.option(
    "--pause",
    default=0.0,
    show_default=True,
    help="Mean pause of a thread between two sends, in seconds.",
)
@click.option(
    "--acks",
    type=click.Choice(["all", "1"]),
    default="all",
    show_default=True,
    help="acks of the producers; with 1 they are not idempotent.",
)
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    default="read_committed",
    show_default=True,
    help="Isolation level of the consumers; the workload transactions reads at both.",
)
@click.option("--brokers", default=3, show_default=True, help="Brokers of the reference broker.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    default=DROPPING,
    show_default=True,
    help="Fault to inject into the reference broker; repeatable. See: urteil broker --help.",
)
@click.option(
    "--bug",
    "bugs",
    multiple=True,
    shell_complete=completion.bugs,
    help="Switch on a bug of the reference broker; repeatable. See: urteil list bugs.",
)
@command(decides=False)
def record_command(
    run: Run,
    bootstrap_servers: str | None,
    client_config: Path | None,
    workload: Workload,
    topic: str | None,
    partitions: int,
    replication_factor: int,
    producers: int,
    consumers: int,
    sends: int,
    pause: float,
    acks: Acks,
    isolation: Isolation,
    brokers: int,
    faults: Sequence[str],
    bugs: Sequence[str],
) -> None:
    """Record what real producers and consumers (confluent-kafka) observe, as Parquet.

    \b
    urteil record --sends 5000
    urteil record --bootstrap-servers kafka:9093 --client-config client.properties
    urteil record --workload transactions --sends 500
    """
    from checkers.record.client_config import ClientConfig, read
    from checkers.record.options import RecordOptions

    numbers = (partitions, producers, consumers, sends)
    for name, number in zip(
        ("partitions", "producers", "consumers", "sends"), numbers, strict=True
    ):
        if number < 1:
            raise InputFault(f"--{name} {number}: must be at least 1")
    own = OwnBroker(brokers=brokers, faults=faults, bugs=bugs)
    if bootstrap_servers is not None and bugs:
        raise InputFault(
            "--bug applies to the reference broker only: leave out --bug or --bootstrap-servers"
        )
    assert run.folder is not None
    options = RecordOptions(
        folder=run.folder.path / HISTORY,
        bootstrap_servers=bootstrap_servers or "",
        client_config=read(client_config) if client_config else ClientConfig(),
        workload=workload,
        topic=topic,
        partitions=partitions,
        replication_factor=replication_factor,
        producers=producers,
        consumers=consumers,
        sends=sends,
        pause_s=pause,
        acks=acks,
        isolation=isolation,
        seed=run.seed,
        progress=run.progress,
    )
    emit_result(run, record(run, options, own if bootstrap_servers is None else None))


def record(run: Run, options: RecordOptions, own: OwnBroker | None) -> RecordResult:
    """Records a history, on a new reference broker if `own` is given, else on the named cluster."""
    from checkers.record import recording

    if own is None:
        return recording.record(options)
    name = options.folder.name
    log, fault_log = (options.folder.with_name(f"{name}-{kept}") for kept in (BROKER_LOG, FAULTS))
    try:
        with serving_own_broker(run, own, log, fault_log) as servers:
            return recording.record(replace(options, bootstrap_servers=servers, broker_log=log))
    finally:
        if fault_log.exists() and options.folder.exists():
            fault_log.rename(options.folder / FAULTS)


@contextmanager
def serving_own_broker(run: Run, own: OwnBroker, log: Path, fault_log: Path) -> Generator[str]:
    """Serves a reference broker in a thread; yields its bootstrap servers.

    The broker writes the requests that it applied to `log`, and the injected faults to `fault_log`.
    """
    from reference_impl.node.bugs import bugs_named
    from reference_impl.wire.faults import parsed
    from reference_impl.wire.serve import ServeOptions, serving

    options = ServeOptions(
        brokers=own.brokers,
        faults=tuple(parsed(text) for text in own.faults),
        bugs=bugs_named(*own.bugs),
        seed=run.seed,
        applied_log=log,
        fault_log=fault_log,
    )
    with serving(options) as cluster:
        yield cluster.bootstrap_servers


def emit_result(run: Run, found: RecordResult) -> None:
    """Emits the figures of a recording, such as the count of operations by outcome."""
    run.emit(Measured(metric="history", value=str(found.folder)))
    for (f, outcome), count in found.outcomes.items():
        run.emit(Measured(metric=f"{f} {outcome}", value=count, unit="operations"))
    if found.applied_but_unanswered is not None:
        unanswered = found.applied_but_unanswered
        run.emit(Measured(metric="applied but unanswered", value=unanswered, unit="sends"))
    if found.unsent:
        run.note(f"{found.unsent} sends skipped: too many earlier ones were never answered")
    if found.unread:
        run.note(f"not read to their end: {', '.join(found.unread)}")
    run.emit(Measured(metric="recorded in", value=round(found.seconds, 1), unit="s"))
    run.note(f"next: {shlex.join(['urteil', 'analyze', str(found.folder)])}")
