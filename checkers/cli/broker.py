"""`urteil broker`: serves the reference broker until Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.cli.security_options import read_security, security_options
from checkers.cli.system_options import bug_option
from checkers.events import Ready
from model.faults import InputFault

if TYPE_CHECKING:
    from reference_impl.wire.serving.served_cluster import ServedCluster


@click.command("broker")
@click.option("--brokers", default=3, show_default=True, help="Number of brokers; ids from 1.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=0,
    show_default=True,
    help="Port of the first broker, the others get the next ones; 0: any free ports.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    help="Inject a fault; repeatable. drop-response:every=7 applies every 7th produce request but"
    " sends no response; kill-broker:id=1,after=100 kills broker 1 after 100 produce requests;"
    " delay:ms=500,api=Fetch,topic=orders delays matching requests. The documentation, 'Faults in"
    " your tests', lists all faults.",
)
@click.option(
    "--control",
    type=int,
    help="Port on 127.0.0.1 for faults, topics and the log of requests over HTTP; 0: a free one.",
)
@bug_option
@click.option(
    "--applied-log",
    type=click.Path(path_type=Path),
    help="New file for an NDJSON log of every applied request, answered or not.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the logs and the metadata, in Kafka's formats; created if it is new. The"
    " cluster continues with what the folder contains. Default: data stays in memory.",
)
@click.option(
    "--processes",
    is_flag=True,
    help="Run the controller and each broker in a process, with sockets between them. The process"
    " ids are printed: kill -9, -STOP and -CONT act as on Kafka.",
)
@click.option(
    "--link-port",
    default=0,
    show_default=True,
    help="With --processes: port on 127.0.0.1 where the controller listens for brokers; broker N"
    " listens for other nodes N ports above. 0: any free ports.",
)
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="NODE-NODE=HOST:PORT",
    help="With --processes: address at which the first node reaches the second one, such as"
    " 1-2=127.0.0.1:7012 or 1-controller=127.0.0.1:7010 for a proxy in this direction; repeatable.",
)
@security_options
@click.option(
    "--auto-create-topics",
    is_flag=True,
    help="Let a Metadata request create the topics that it names (auto.create.topics.enable).",
)
@click.option(
    "--broker-config",
    "broker_config",
    multiple=True,
    metavar="NAME=VALUE",
    help="Setting of every broker under Kafka's name: a time in milliseconds, a limit or a default"
    " of topics, such as num.partitions=3 or log.retention.ms=60000; repeatable.",
)
@command(decides=False, folder=False)
def broker_command(
    run: Run,
    brokers: int,
    host: str,
    port: int,
    faults: Sequence[str],
    control: int | None,
    bugs: Sequence[str],
    applied_log: Path | None,
    data_dir: Path | None,
    processes: bool,
    link_port: int,
    links: Sequence[str],
    security: Mapping[str, Any],
    auto_create_topics: bool,
    broker_config: Sequence[str],
) -> None:
    """Serve the reference broker over TCP until Ctrl-C. Any Kafka client can connect.

    \b
    urteil broker --port 9092
    urteil broker --port 9092 --data-dir data
    urteil broker --fault drop-response:every=7 --bug no-dedup
    urteil broker --control 8474
    urteil broker --brokers 3 --processes
    urteil broker --security-protocol SASL_PLAINTEXT --user alice=secret
    """
    from reference_impl.node.bugs import bugs_named
    from reference_impl.wire.faults.reading import parsed
    from reference_impl.wire.faults.rule import CONTROLLER_NAME
    from reference_impl.wire.memory.freed_memory import keep_freed_memory
    from reference_impl.wire.memory.frozen_imports import freeze_imports
    from reference_impl.wire.serving.links_in_text import read_link
    from reference_impl.wire.serving.options import ServeOptions
    from reference_impl.wire.serving.serve import serve
    from reference_impl.wire.serving.start_configs import started_with

    if applied_log is not None and (applied_log.exists() or not applied_log.parent.is_dir()):
        raise InputFault(f"--applied-log {applied_log}: name a new file in an existing folder")
    options = ServeOptions(
        brokers=brokers,
        address=host,
        port=port,
        bugs=bugs_named(*bugs),
        faults=tuple(parsed(text) for text in faults),
        seed=run.seed,
        applied_log=applied_log,
        data_dir=data_dir,
        processes=processes,
        link_port=link_port,
        links=dict(read_link(text) for text in links),
        control=control,
        security=read_security(security),
        auto_creates_topics=auto_create_topics,
        broker_settings=started_with(broker_config),
    )

    def ready(cluster: ServedCluster) -> None:
        freeze_imports()
        url = None if cluster.control is None else cluster.control.url
        pids = {str(broker): pid for broker, pid in cluster.pids.items()}
        if cluster.controller_pid is not None:
            pids = {CONTROLLER_NAME: cluster.controller_pid, **pids}
        run.emit(Ready(bootstrap_servers=cluster.bootstrap_servers, control=url, pids=pids))
        loop = asyncio.get_running_loop()

        def use(library: Path) -> None:
            work = cluster.read_records_with(library)
            try:
                asyncio.run_coroutine_threadsafe(work, loop).result()
            except (CancelledError, RuntimeError):
                work.close()  # the cluster has stopped meanwhile

        threading.Thread(target=read_records_in_c, args=(use, run.note), daemon=True).start()

    keep_freed_memory()
    asyncio.run(serve(options, on_ready=ready, note=run.note))


def read_records_in_c(use: Callable[[Path], object], note: Callable[[str], None]) -> None:
    """Compiles the C code that reads the records of a batch, and calls `use` with the path of the
    compiled library.

    Without a C compiler, `use` is not called, and Python reads the records. `note` is then called
    with a text that states the reason.
    """
    from checkers.compiler import CannotCompile, library_file
    from reference_impl.log import compiled_scan

    name = compiled_scan.SOURCE
    try:
        use(library_file({name: compiled_scan.source()}, name))
    except (CannotCompile, OSError) as reason:
        note(f"Python reads the records of large batches, which is slow: {reason}")
