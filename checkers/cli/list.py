"""`urteil list KIND`: lists the items of one kind, such as specs. Without KIND, it
lists the kinds.
"""

from __future__ import annotations

import click

from checkers.cli import catalogue, completion
from checkers.cli.command import command
from checkers.cli.run import Run
from model.faults import InputFault


@click.command("list")
@click.argument(
    "kind",
    metavar=f"[{'|'.join(catalogue.KINDS)}]",
    required=False,
    shell_complete=completion.kinds,
)
@click.option(
    "--kafka",
    metavar="RELEASE",
    shell_complete=completion.releases,
    help="List only what this Kafka release has, such as 4.3: versions, bugs, claims or specs.",
)
@command(decides=False, folder=False)
def list_command(run: Run, kind: str | None, kafka: str | None) -> None:
    """List everything of one kind by name; without KIND, list the kinds.

    For specs, versions, bugs and claims, a column shows the Kafka releases that have them.

    \b
    urteil list
    urteil list bugs
    urteil list bugs --kafka 4.3

    With --kafka, a row is left out if its first release or the release with the fix is not known. A
    note has the number of these rows.
    """
    if kafka is not None:
        of_release(run, kind, kafka)
        return
    for row in catalogue.kinds() if kind is None else catalogue.rows(kind):
        run.emit(row)


def of_release(run: Run, kind: str | None, release: str) -> None:
    if kind not in catalogue.WITH_RELEASES:
        of_release = ", ".join(catalogue.WITH_RELEASES)
        raise InputFault(f"--kafka {release}: name a kind that has releases: {of_release}")
    if kind == "specs":
        for row in catalogue.specs_of(release):
            run.emit(row)
        return
    uncertain = 0
    for row in catalogue.rows(kind):
        has = None if row.in_force is None else row.in_force.has(release)
        uncertain += has is None
        if has:
            run.emit(row)
    if uncertain:
        run.note(f"not known of {uncertain} more: urteil list {kind}")
