"""`urteil convert`: writes any history as a folder of Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from checkers.cli.command import FOLDER, command
from checkers.cli.places import PLACE
from checkers.cli.run import Run
from checkers.events import Measured

if TYPE_CHECKING:
    from pathlib import Path

    from checkers.histories.io.locations import Place


@click.command("convert")
@click.argument("history", metavar="HISTORY", type=PLACE)
@click.argument("folder", metavar="FOLDER", type=FOLDER)
@command(decides=False, folder=False)
def convert_command(run: Run, history: Place, folder: Path) -> None:
    """Write HISTORY as Parquet into the new FOLDER, which `urteil analyze` reads fastest.

    HISTORY is what `urteil analyze` takes: Jepsen's EDN, NDJSON, Parquet, a recording, an address
    or a glob. Columns and fields that the format does not have are left out and counted.

    \b
    urteil convert store/latest/history.edn histories/latest
    urteil convert 's3://bucket/histories/*.ndjson' histories/november
    """
    from checkers.histories.io.converting import convert
    from checkers.histories.io.locations import expanded

    converted = convert(expanded(history), folder)
    for name, count in sorted(converted.unmapped.items()):
        run.emit(Measured(metric=f"left out: {name}", value=count, unit="values"))
    run.emit(Measured(metric=f"{folder}: rows", value=converted.rows))
