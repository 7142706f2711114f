"""`urteil list KIND`: the rows of one table of the catalogue."""

from __future__ import annotations

import click

from checkers.cli import catalogue
from checkers.cli.run import Run, command


@click.command("list")
@click.argument("kind", metavar="|".join(catalogue.KINDS))
@command(decides=False, folder=False)
def list_command(run: Run, kind: str) -> None:
    """List versions of the protocol, bugs, bugs left out, properties, claims and so on.

    \b
    urteil list bugs
    """
    for row in catalogue.rows(kind):
        run.emit(row)
