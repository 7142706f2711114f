"""The assumptions about a history that an analysis makes, such as the isolation level of its
readers.

The assumptions come from the settings with which the history was recorded. A command-line option
replaces the recorded setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from checkers.histories.io import recorded
from checkers.histories.io.locations import FileSet, Location, file_in_history
from model.faults import InputFault
from model.histories import Isolation
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations, SubVia


def assumptions_of(
    history: Location | None,
    *,
    sub_via: Sequence[str] = (),
    ww_deps: bool = False,
    rw_deps: bool = False,
    isolation: str | None = None,
    compacted: Sequence[str] = (),
    unfinished: bool = False,
    jepsen: bool = False,
) -> Declarations:
    """Returns the assumptions about a history.

    An option that is set replaces the recorded setting. If `history` is None, there are no recorded
    settings, and every assumption comes from the options or from its default. Raises
    UnreadableHistory if `history.json` is malformed, and InputFault if a recorded setting or an
    option has an invalid value.
    """
    metadata = {} if history is None else _metadata(history)
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


def recorded_system(history: Location) -> str | None:
    """Returns the system under test, such as `apache-kafka:4.3.0`, or the address of a running
    cluster.

    Returns None if `history.json` does not name the system. Raises UnreadableHistory if
    `history.json` is malformed.
    """
    return _metadata(history).get("settings", {}).get("system") or None


def _setting(
    history: Location | None, settings: Mapping[str, Any], name: str, allowed: Sequence[str]
) -> Sequence[str]:
    value = settings.get(name) or []
    values = value if isinstance(value, list) else [value]
    for one in values:
        if one not in allowed:
            raise InputFault(
                f"{history}: its setting {name} is {one!r}; allowed are {', '.join(allowed)}"
            )
    return values


def _metadata(history: Location) -> dict[str, Any]:
    if isinstance(history, FileSet) or file_in_history(history, recorded.METADATA) is None:
        return {}
    return recorded.metadata(history)
