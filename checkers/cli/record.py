"""`urteil record`: a workload of real clients, on our broker or on any cluster, and its history."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

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
    """The reference broker that a recording starts for itself."""

    brokers: int = 3
    faults: Sequence[str] = DROPPING
    bugs: Sequence[str] = ()


@click.command("record")
@click.option("--bootstrap-servers", help="A cluster. Default: a reference broker of its own.")
@click.option(
    "--client-config",
    type=click.Path(path_type=Path),
    help="File of the clients' own properties: TLS, SASL.",
)
@click.option(
    "--workload",
    type=click.Choice(["append-and-read", "transactions"]),
    default="append-and-read",
    show_default=True,
    help="transactions: a group consumes, transforms, produces.",
)
@click.option("--topic", help="A new topic's name. Default: one that nobody else has.")
@click.option("--partitions", default=4, show_default=True, help="Of the topic.")
@click.option(
    "--replication-factor", default=-1, help="Of the topic; -1: the cluster's.", show_default=True
)
@click.option("--producers", default=3, show_default=True, help="Each sends from two threads.")
@click.option("--consumers", default=2, show_default=True, help="Each reads all partitions.")
@click.option("--sends", default=2_000, show_default=True, help="Of all producers together.")
@click.option("--pause", default=0.0, help="Of a sender between two sends, s.", show_default=True)
@click.option(
    "--acks",
    type=click.Choice(["all", "1"]),
    default="all",
    show_default=True,
    help="1: the leader alone answers, and no producer is idempotent.",
)
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    default="read_committed",
    show_default=True,
    help="Of the readers; those of transactions read at both.",
)
@click.option("--brokers", default=3, show_default=True, help="Of the reference broker.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    default=DROPPING,
    show_default=True,
    help="Of the reference broker: urteil broker --help.",
)
@click.option("--bug", "bugs", multiple=True, help="A seeded bug, on purpose: urteil list bugs.")
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
    """Record what confluent-kafka's producers and consumers observe, as a folder of Parquet.

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
            raise InputFault(f"--{name} {number}: at least 1")
    own = OwnBroker(brokers=brokers, faults=faults, bugs=bugs)
    if bootstrap_servers is not None and bugs:
        raise InputFault("--bug is for the reference broker: leave it or --bootstrap-servers out")
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
    tell(run, record(run, options, own if bootstrap_servers is None else None))


def record(run: Run, options: RecordOptions, own: OwnBroker | None) -> RecordResult:
    """Records, on a reference broker of its own or on the cluster that the options name."""
    from checkers.record import recording

    if own is None:
        return recording.record(options)
    name = options.folder.name
    log, happened = (options.folder.with_name(f"{name}-{kept}") for kept in (BROKER_LOG, FAULTS))
    try:
        with served(run, own, log, happened) as servers:
            return recording.record(replace(options, bootstrap_servers=servers, broker_log=log))
    finally:
        if happened.exists() and options.folder.exists():
            happened.rename(options.folder / FAULTS)


@contextmanager
def served(run: Run, own: OwnBroker, log: Path, happened: Path) -> Generator[str]:
    """A reference broker in a thread, that logs what it applies and suffers: its servers."""
    from reference_impl.node.bugs import bugs_named
    from reference_impl.wire.faults import parsed
    from reference_impl.wire.serve import ServeOptions, serving

    options = ServeOptions(
        brokers=own.brokers,
        faults=tuple(parsed(text) for text in own.faults),
        bugs=bugs_named(*own.bugs),
        seed=run.seed,
        applied_log=log,
        fault_log=happened,
    )
    with serving(options) as cluster:
        yield cluster.bootstrap_servers


def tell(run: Run, found: RecordResult) -> None:
    """What was recorded, as figures."""
    run.emit(Measured(what="history", value=str(found.folder)))
    for (f, outcome), count in found.outcomes.items():
        run.emit(Measured(what=f"{f} {outcome}", value=count, unit="operations"))
    if found.applied_but_unanswered is not None:
        unanswered = found.applied_but_unanswered
        run.emit(Measured(what="applied but unanswered", value=unanswered, unit="sends"))
    if found.unsent:
        run.note(f"{found.unsent} sends left out: too many before them were never answered")
    if found.unread:
        run.note(f"not read to the end: {', '.join(found.unread)}")
    run.emit(Measured(what="recorded in", value=round(found.seconds, 1), unit="s"))
    run.note(f"what it shows: {shlex.join(['urteil', 'analyze', str(found.folder)])}")
