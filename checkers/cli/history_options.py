"""The options that choose the version of a history, and that describe its clients and topics.

For example, the options state the isolation level of the readers, how consumers got their
partitions, and whether all logs were read to the end. The folder of a recording also has this
information, and the options override it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.histories.io.locations import Location
    from checkers.histories.topics.address import Topic

_OPTIONS: Final = (
    click.option(
        "--sub-via",
        "sub_via",
        type=click.Choice(["assign", "subscribe"]),
        multiple=True,
        help="How consumers got their partitions; repeatable. Default: assign.",
    ),
    click.option(
        "--ww-deps", is_flag=True, help="Also look for cycles through write-write dependencies."
    ),
    click.option(
        "--rw-deps", is_flag=True, help="Also look for cycles through read-write dependencies."
    ),
    click.option(
        "--isolation",
        type=click.Choice(["read_committed", "read_uncommitted"]),
        help="Isolation level assumed for readers whose level is not recorded."
        " Default: read_committed.",
    ),
    click.option(
        "--compacted",
        metavar="TOPIC",
        multiple=True,
        help="A compacted topic: its records may be missing; repeatable.",
    ),
    click.option(
        "--unfinished",
        is_flag=True,
        help="Readers did not reach the end of every log: an unread record is not lost.",
    ),
    click.option(
        "--jepsen",
        is_flag=True,
        help="Judge as jepsen.tests.kafka does, with its names; anomalies that it does not look"
        " for are reported as permitted.",
    ),
)


def history_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def table_version_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--table-version",
        type=click.IntRange(min=0),
        help="Version of the Delta table, or id of the Iceberg table's snapshot, that HISTORY is."
        " Default: the newest.",
    )(command)


def at_version(history: Location | Topic, version: int | None) -> Location | Topic:
    """Returns the files of a Delta or Iceberg table at a version. If `version` is None, the newest
    version is used. Any other history is returned unchanged.

    Raises InputFault if a version is passed for a history that is not a Delta or Iceberg table.
    Raises UnreadableHistory if the table is unreadable.
    """
    from checkers.histories.io import delta, iceberg
    from checkers.histories.io.locations import FileSet
    from checkers.histories.topics.address import Topic

    if not isinstance(history, FileSet | Topic):
        if delta.is_table(history):
            return delta.files_of(history, version)
        if iceberg.is_table(history):
            return iceberg.files_of(history, version)
    if version is not None:
        raise InputFault(
            f"--table-version {version}: {history} is no Delta or Iceberg table; leave out the "
            "option"
        )
    return history
