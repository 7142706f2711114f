"""`urteil record`: runs a workload of real clients on a cluster and records its history."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cli import completion
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.cli.system_options import RUNNING, broker_settings, bug_option, system_options
from checkers.events import Measured
from checkers.run_files import HISTORY
from model.faults import InputFault, UnknownName

if TYPE_CHECKING:
    from checkers.client_config import Acks, ClientConfig
    from checkers.histories.io.faults import Step
    from checkers.record.options import RecordOptions, Workload
    from checkers.record.recording import RecordResult
    from checkers.systems.opening import SystemName
    from checkers.systems.system import Layout, System
    from model.histories import Isolation
    from reference_impl.wire.serving.options import ServeOptions

DROPPING = "drop-response:every=11"
BROKER_LOG = "broker.ndjson"
FAULTS = "faults.ndjson"
STATE = "broker-state.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    system: SystemName
    layout: Layout
    rounds: tuple[str, ...] = ()  # kinds of rounds of faults on brokers
    served: ServeOptions | None = None  # faults of responses, and bugs; the reference broker only


@click.command("record")
@system_options("served", f"System to record on: {RUNNING}")
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
@click.option(
    "--brokers", default=3, show_default=True, help="Brokers of the system that Urteil starts."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="FAULT",
    help="Fault to inject; repeatable. Rounds of faults on brokers, at random times: kill, stop"
    " (cleanly), pause, power-loss (of one broker), blackout (power loss of all), reassign,"
    " last-standing. The reference broker also takes the faults of urteil broker --help."
    f" Default: {DROPPING} for served, else none.",
)
@click.option(
    "--traced",
    is_flag=True,
    help="Let Apache Kafka write TRACE logs into the run folder, for urteil trace.",
)
@bug_option
@click.option(
    "--resume",
    metavar="RUN",
    shell_complete=completion.runs,
    help="Continue a recording that was killed or interrupted: its run folder, or last. Its options"
    " apply again; a file of --client-config must be passed again.",
)
@command(decides=False)
def record_command(
    run: Run,
    on: str,
    kafka_home: Path | None,
    broker_config: Sequence[str],
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
    traced: bool,
    bugs: Sequence[str],
    resume: str | None,
) -> None:
    """Record what real producers and consumers (confluent-kafka) observe, as Parquet.

    \b
    urteil record --sends 5000
    urteil record --on apache-kafka:4.3.0 --fault kill --fault pause
    urteil record --on kafka:9093 --client-config client.properties
    urteil record --workload transactions --sends 500
    urteil record --resume last
    """
    from checkers.client_config import ClientConfig, read
    from checkers.record.options import RecordOptions
    from checkers.systems.opening import named
    from checkers.systems.remote import Remote

    config = read(client_config) if client_config else ClientConfig()
    if resume is not None:
        emit_result(run, continued(run, resume, config))
        return
    numbers = (partitions, producers, consumers, sends)
    for name, number in zip(
        ("partitions", "producers", "consumers", "sends"), numbers, strict=True
    ):
        if number < 1:
            raise InputFault(f"--{name} {number}: must be at least 1")
    system = named(on, kafka_home)
    subject = subject_of(run, system, brokers, broker_config, faults, bugs, traced=traced)
    assert run.folder is not None
    options = RecordOptions(
        folder=run.folder.path / HISTORY,
        bootstrap_servers="",
        client_config=config,
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
    with _continuation_noted(run, options.folder if isinstance(system, Remote) else None):
        emit_result(run, record(run, options, subject))


def subject_of(
    run: Run,
    system: SystemName,
    brokers: int,
    broker_config: Sequence[str] = (),
    faults: Sequence[str] = (),
    bugs: Sequence[str] = (),
    *,
    traced: bool = False,
) -> Subject:
    """Returns the system to record on, with its layout and faults, as the options select it. Raises
    InputFault for an option that the system does not support, such as a kind of fault.
    """
    from checkers.systems import served
    from checkers.systems.opening import KafkaSystem, ServedSystem
    from checkers.systems.rounds import KINDS, NEEDS
    from checkers.systems.system import Layout
    from reference_impl.node.bugs import bugs_named
    from reference_impl.wire.faults.reading import KNOWN, parsed
    from reference_impl.wire.serving.options import ServeOptions

    is_served = isinstance(system, ServedSystem)
    if bugs and not is_served:
        raise InputFault("--bug applies to the reference broker only: leave out --bug or --on")
    if traced and not isinstance(system, KafkaSystem):
        raise InputFault(
            "--traced: only Apache Kafka writes TRACE logs: leave it out, or use --on apache-kafka"
        )
    if is_served and broker_config:
        raise InputFault("--broker-config: the reference broker has no settings: leave it out")
    if not isinstance(system, KafkaSystem | ServedSystem) and (faults or broker_config):
        option = "--fault" if faults else "--broker-config"
        raise InputFault(f"{option}: {system.name} has no such ability: leave out {option}")
    rounds = tuple(fault for fault in faults if fault in KINDS)
    if is_served and (unable := [kind for kind in rounds if not NEEDS[kind] <= served.ABILITIES]):
        raise InputFault(
            f"--fault {unable[0]}: the reference broker can only be killed or lose power: use"
            " --on apache-kafka"
        )
    others = [fault for fault in faults if fault not in KINDS]
    if others and not is_served:
        raise InputFault(f"--fault {others[0]}: for {system.name} use one of {', '.join(KINDS)}")
    for fault in others:
        name = fault.partition(":")[0]
        if name not in KNOWN and not fault.startswith("{"):
            raise UnknownName("fault", name, (*KINDS, *KNOWN))
    options = ServeOptions(
        brokers=brokers,
        bugs=bugs_named(*bugs),
        faults=tuple(parsed(text) for text in (others if faults else [DROPPING])),
        seed=run.seed,
    )
    return Subject(
        system=system,
        layout=Layout(brokers=brokers, settings=broker_settings(broker_config), traced=traced),
        rounds=rounds,
        served=options if is_served else None,
    )


def record(run: Run, options: RecordOptions, subject: Subject) -> RecordResult:
    """Records a history on the system, while faults are injected into the system.

    The folder of the history also contains the injected faults, even if the recording is
    interrupted. The reference broker also writes the acknowledged record batches to a file next
    to this folder. If some records could not be sent or read, the state of the reference broker is
    written to the file `broker-state.txt` in the folder.
    """
    from checkers.histories.io.faults import write_faults
    from checkers.record import recording
    from checkers.systems import rounds
    from checkers.systems.served import ServedCluster

    name = options.folder.name
    log, fault_log = (options.folder.with_name(f"{name}-{file}") for file in (BROKER_LOG, FAULTS))
    done: list[Step] = []
    with started(run, subject, log, fault_log) as system:

        def inflict(sent: threading.Event) -> None:
            session_s = subject.layout.session_s
            drawn = rounds.rounds(run.seed, subject.rounds, system.brokers, session_s)
            rounds.inflict(system, drawn, sent, done)

        options = replace(
            options,
            bootstrap_servers=system.bootstrap_servers,
            system=system.name,
            broker_config=subject.layout.settings,
            fault_injector=inflict if subject.rounds else None,
            broker_log=log if subject.served else None,
        )
        try:
            result = recording.record(options)
            if (result.unsent or result.unread) and isinstance(system, ServedCluster):
                lines = system.served.state() or ["each broker has a process of its own"]
                options.folder.joinpath(STATE).write_text("\n".join(lines) + "\n", encoding="utf-8")
            return result
        finally:
            if options.folder.exists() and fault_log.exists():
                fault_log.rename(options.folder / FAULTS)
            elif options.folder.exists() and done:
                write_faults(options.folder, done)


def continued(run: Run, text: str, client_config: ClientConfig) -> RecordResult:
    """Continues an earlier recording on a running cluster, and records the operations that are
    still missing.
    """
    from checkers.cli.resuming import resumed
    from checkers.record import recording

    with (
        resumed(run, text, client_config) as (options, kept),
        _continuation_noted(run, options.folder),
    ):
        return recording.record(options, kept)


@contextmanager
def _continuation_noted(run: Run, history: Path | None) -> Generator[None]:
    """If Ctrl-C interrupts the `with` block, prints the command that continues the recording.
    Prints nothing if there is no recording to continue.
    """
    try:
        yield
    except KeyboardInterrupt:
        if history is not None and history.exists():
            run.note(
                f"continue: {shlex.join(['urteil', 'record', '--resume', str(history.parent)])}"
            )
        raise


@contextmanager
def started(run: Run, subject: Subject, log: Path, fault_log: Path) -> Generator[System]:
    """Starts the system, or connects to it if it already runs.

    The reference broker writes the acknowledged record batches to `log` and the injected faults to
    `fault_log`. Other systems write neither of these files.
    """
    from checkers.systems import served
    from checkers.systems.opening import CLUSTER, opened

    assert run.folder is not None
    if subject.served is None:
        running = opened(subject.system, run.folder.path / CLUSTER, subject.layout)
    else:
        logged = replace(subject.served, applied_log=log, fault_log=fault_log)
        running = served.running(subject.layout, logged)
    with running as system:
        yield system


def emit_result(run: Run, found: RecordResult) -> None:
    from checkers.histories.io.assumptions import recorded_system

    run.emit(Measured(metric="history", value=str(found.folder)))
    if (system := recorded_system(found.folder)) is not None:
        run.emit(Measured(metric="system", value=system))
    for (f, outcome), count in found.outcomes.items():
        run.emit(Measured(metric=f"{f} {outcome}", value=count, unit="operations"))
    if found.applied_but_unanswered is not None:
        unanswered = found.applied_but_unanswered
        run.emit(Measured(metric="applied but unanswered", value=unanswered, unit="sends"))
    if found.unsent:
        run.note(f"{found.unsent} sends skipped: too many earlier ones were never answered")
    state = found.folder / STATE
    if state.exists():
        run.note(f"the brokers at the end: {state}")
    if found.unread:
        run.note(f"not read to their end: {', '.join(found.unread)}")
    run.emit(Measured(metric="recorded in", value=round(found.seconds, 1), unit="s"))
    run.note(f"next: {shlex.join(['urteil', 'analyze', str(found.folder)])}")
