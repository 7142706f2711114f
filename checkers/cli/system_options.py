"""The options that several commands share: the system under test, its settings and its bugs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from checkers.cli import completion
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.systems.system import Settings

SERVED: Final = "served (the reference broker over TCP)"
RUNNING: Final = f"{SERVED}, apache-kafka:VERSION or HOST:PORT,..."
bug_option: Final = click.option(
    "--bug",
    "bugs",
    multiple=True,
    shell_complete=completion.bugs,
    help="Switch on a bug of the reference broker; repeatable. See: urteil list bugs.",
)


def system_options(
    default: str | None, on_help: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--broker-config",
                "broker_config",
                multiple=True,
                metavar="NAME=VALUE",
                help="Setting of every node of the Apache Kafka that Urteil starts; repeatable.",
            ),
            click.option(
                "--kafka-home",
                type=click.Path(path_type=Path),
                help="Folder of an unpacked release, for --on apache-kafka. Default: Maven's jars.",
            ),
            click.option(
                "--on",
                "on",
                default=default,
                show_default=True,
                metavar="SYSTEM",
                shell_complete=completion.systems,
                help=on_help,
            ),
        ):
            command = option(command)
        return command

    return decorate


def broker_settings(assignments: Sequence[str]) -> Settings:
    """Returns broker settings, parsed from texts such as `min.insync.replicas=2`. Raises InputFault
    for a malformed text.
    """
    settings: dict[str, str] = {}
    for text in assignments:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise InputFault(f"--broker-config {text}: write NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings
