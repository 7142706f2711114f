"""What is declared of a history: by the options of `analyze`, and by the recording itself.

A recorded folder says at which isolation level its readers read, how its consumers got their
partitions, and whether it was finished: not interrupted, and read to the end. Options win.
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
    click.option("--ww-deps", is_flag=True, help="Cycles follow write-write dependencies."),
    click.option("--rw-deps", is_flag=True, help="Cycles follow anti-dependencies."),
    click.option(
        "--isolation",
        type=click.Choice(["read_committed", "read_uncommitted"]),
        help="Of readers that the history does not say it of. Default: read_committed.",
    ),
    click.option(
        "--compacted",
        metavar="TOPIC",
        multiple=True,
        help="Any record of it may be gone; repeatable.",
    ),
    click.option(
        "--unfinished", is_flag=True, help="Its readers did not come to the end of every log."
    ),
    click.option(
        "--jepsen",
        is_flag=True,
        help="Judge as jepsen.tests.kafka does, and by its names; what else is found is told.",
    ),
)


def declaring(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options of `declared_of`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def declared_of(
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
    """What the options declare of the history, and what it says of itself; UnreadableHistory."""
    said = _said(history)
    settings = said.get("settings", {})
    level = isolation or next(iter(_words(history, settings, "isolation", get_args(Isolation))), "")
    via = sub_via or _words(history, settings, "sub_via", get_args(SubVia))
    if "" in compacted:
        raise InputFault("--compacted '': name a topic")
    return Declarations(
        sub_via=cast("frozenset[SubVia]", frozenset(via)) or NOTHING_DECLARED.sub_via,
        ww_deps=ww_deps,
        rw_deps=rw_deps,
        isolation="read_uncommitted" if level == "read_uncommitted" else "read_committed",
        compacted=frozenset(compacted),
        finished=not unfinished and said.get("finished") is not False,
        jepsen=jepsen,
    )


def _words(
    history: Path, settings: Mapping[str, Any], name: str, known: Sequence[str]
) -> Sequence[str]:
    """What the settings of a recording say under the name: one word, several, or none."""
    told = settings.get(name) or []
    words = told if isinstance(told, list) else [told]
    for word in words:
        if word not in known:
            raise InputFault(f"{history}: {name} is {word!r} in it; {', '.join(known)} exist")
    return words


def _said(history: Path) -> dict[str, Any]:
    from checkers.histories.io import recorded

    recording = history.is_dir() and (history / recorded.METADATA).exists()
    return recorded.metadata(history) if recording else {}
