"""The options of `analyze` that describe how the clients and topics of a history were configured.

The folder of a recording states three of these facts: the isolation level of the readers, how
consumers got their partitions, and whether all logs were read to the end. The options override
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

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
    """Adds the options about clients and topics, such as the isolation level, to a command.

    The command gets each option as a keyword argument, and passes them to `assumptions_of`.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
