"""The assumptions about a history: the settings of its recording, unless an option overrides
them.
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
    """Returns the assumptions about a history; without a history, only the options count.

    Raises UnreadableHistory or InputFault.
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
    """Returns the system under test, such as `apache-kafka:4.3.0`, or a running cluster's address.

    Returns None if it was not recorded. Raises UnreadableHistory.
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
