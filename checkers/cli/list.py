"""`urteil list KIND`: lists the items of one kind in the catalogue; without KIND, the kinds."""

from __future__ import annotations

import click

from checkers.cli import catalogue, completion
from checkers.cli.run import Run, command


@click.command("list")
@click.argument(
    "kind",
    metavar=f"[{'|'.join(catalogue.KINDS)}]",
    required=False,
    shell_complete=completion.kinds,
)
@command(decides=False, folder=False)
def list_command(run: Run, kind: str | None) -> None:
    """List everything of one kind by name; without KIND, list the kinds.

    Specs, versions, bugs and claims have a column of the Kafka releases that have them.

    \b
    urteil list
    urteil list bugs
    """
    for row in catalogue.kinds() if kind is None else catalogue.rows(kind):
        run.emit(row)
