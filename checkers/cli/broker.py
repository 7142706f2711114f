"""`urteil broker`: serves the reference broker until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from checkers.cli.run import Run, command
from checkers.events import Ready
from model.faults import InputFault


@click.command("broker")
@click.option("--brokers", default=3, show_default=True, help="How many; numbered from 1.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=0,
    show_default=True,
    help="Of the first broker, the others follow; 0 picks free ports.",
)
@click.option(
    "--fault", "faults", multiple=True, help="drop-response:every=7, or kill-broker:id=1,after=100."
)
@click.option("--bug", "bugs", multiple=True, help="A seeded bug, on purpose: urteil list bugs.")
@click.option(
    "--applied-log",
    type=click.Path(path_type=Path),
    help="A new file: NDJSON of what is applied, answered or not.",
)
@command(decides=False, folder=False)
def broker_command(
    run: Run,
    brokers: int,
    host: str,
    port: int,
    faults: Sequence[str],
    bugs: Sequence[str],
    applied_log: Path | None,
) -> None:
    """Serve the reference broker over TCP, in memory, until Ctrl-C: any Kafka client connects.

    \b
    urteil broker --port 9092
    urteil broker --fault drop-response:every=7 --bug no-dedup
    """
    from reference_impl.node.bugs import bugs_named
    from reference_impl.wire.faults import parsed
    from reference_impl.wire.serve import ServeOptions, serve

    if applied_log is not None and (applied_log.exists() or not applied_log.parent.is_dir()):
        raise InputFault(f"--applied-log {applied_log}: name a new file, in a folder that there is")
    options = ServeOptions(
        brokers=brokers,
        address=host,
        port=port,
        bugs=bugs_named(*bugs),
        faults=tuple(parsed(text) for text in faults),
        seed=run.seed,
        applied_log=applied_log,
    )

    def ready(servers: str) -> None:
        run.emit(Ready(bootstrap_servers=servers))

    asyncio.run(serve(options, on_ready=ready, note=run.note))
