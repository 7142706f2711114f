"""The options of `analyze` that describe how the clients and topics of a history were configured.

A recorded folder contains the isolation level of its readers, how its consumers got their
partitions, and whether every log was read to its end. Options override these recorded settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast, get_args

import click

from model.faults import InputFault
from model.histories import Isolation
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations, SubVia

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
    """Adds to a command one option for each keyword argument of `assumptions_of`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def assumptions_of(
    history: Path,
    *,
    sub_via: Sequence[str] = (),
    ww_deps: bool = False,
    rw_deps: bool = False,
    isolation: str | None = None,
    compacted: Sequence[str] = (),
    unfinished: bool = False,
    jepsen: bool = False,
) -> Declarations:
    """Returns the assumptions about the history; an option overrides the recorded setting.

    Raises UnreadableHistory, InputFault.
    """
    metadata = _metadata(history)
    settings = metadata.get("settings", {})
    level = isolation or next(
        iter(_setting(history, settings, "isolation", get_args(Isolation))), ""
    )
    via = sub_via or _setting(history, settings, "sub_via", get_args(SubVia))
    if "" in compacted:
        raise InputFault("--compacted '': the name of the topic is empty")
    return Declarations(
        sub_via=cast("frozenset[SubVia]", frozenset(via)) or NOTHING_DECLARED.sub_via,
        ww_deps=ww_deps,
        rw_deps=rw_deps,
        isolation="read_uncommitted" if level == "read_uncommitted" else "read_committed",
        compacted=frozenset(compacted),
        finished=not unfinished and metadata.get("finished") is not False,
        jepsen=jepsen,
    )


def _setting(
    history: Path, settings: Mapping[str, Any], name: str, allowed: Sequence[str]
) -> Sequence[str]:
    """Returns the values of a recorded setting; empty if the setting is missing.

    Raises InputFault for a value that is not in `allowed`.
    """
    value = settings.get(name) or []
    values = value if isinstance(value, list) else [value]
    for one in values:
        if one not in allowed:
            raise InputFault(
                f"{history}: its setting {name} is {one!r}; allowed are {', '.join(allowed)}"
            )
    return values


def _metadata(history: Path) -> dict[str, Any]:
    from checkers.histories.io import recorded

    recording = history.is_dir() and (history / recorded.METADATA).exists()
    return recorded.metadata(history) if recording else {}
