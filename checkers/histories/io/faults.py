"""The faults injected into a cluster while its history was recorded: the file `faults.ndjson`.

    {"at_ns": 12, "do": "kill", "node": 1}
    {"at_ns": 30, "do": "start", "node": 1}

Each line has one action on a node, with the time of the action on the clock of the history. The
lines are in ascending order of time. A `start` or `restart` ends a kill, a clean stop or a power
loss of the node. A `resume` ends a pause, and a `heal` ends an isolation. No verdict depends on the
faults, because a fault justifies no anomaly.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from checkers.histories.io.field_types import booleans
from checkers.histories.io.locations import Location, Place, file_in_history
from checkers.histories.io.unreadable import SHOWN, UnreadableHistory

FILE: Final = "faults.ndjson"
MOMENTARY: Final = ("elect", "reassign", "wipe")  # faults that end at once
DOWN: Final = ("kill", "stop", "power-loss")
ENDS: Final = {"start": DOWN, "restart": DOWN, "resume": ("pause",), "heal": ("isolate",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One action on a node, such as a kill or a start, with its time on the recorder's clock."""

    at_ns: int
    do: str
    node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a node, such as a period in which the node was down, paused or isolated.

    `until_ns` is None if the fault did not end during the recording.
    """

    do: str
    node: int
    from_ns: int
    until_ns: int | None = None


def write_faults(folder: Path, steps: Iterable[Step]) -> None:
    lines = "".join(json.dumps(asdict(step)) + "\n" for step in steps)
    (folder / FILE).write_text(lines, encoding="utf-8")


def faults(history: Location) -> tuple[Fault, ...]:
    """Returns the faults of a recorded history, ordered by their start.

    The result is empty if the history has no file `faults.ndjson`. Raises UnreadableHistory if a
    line of the file is malformed.
    """
    path = file_in_history(history, FILE)
    return paired(_steps(path)) if path is not None else ()


def paired(steps: Iterable[Step]) -> tuple[Fault, ...]:
    """Returns each fault that a step begins, with the time at which a later step ends the fault.

    A fault that lasts no time, such as `wipe`, ends at its own start.

    >>> paired([Step(at_ns=1, do="kill", node=2), Step(at_ns=5, do="start", node=2)])
    (Fault(do='kill', node=2, from_ns=1, until_ns=5),)
    """
    found: list[Fault] = []
    lasting: dict[tuple[str, int], int] = {}  # index in `found` of each fault that has not ended
    for step in sorted(steps, key=lambda one: one.at_ns):
        if step.do in MOMENTARY:
            found.append(Fault(do=step.do, node=step.node, from_ns=step.at_ns, until_ns=step.at_ns))
        elif step.do not in ENDS and (step.do, step.node) not in lasting:
            lasting[step.do, step.node] = len(found)
            found.append(Fault(do=step.do, node=step.node, from_ns=step.at_ns))
        for ended in ENDS.get(step.do, ()):
            # An action that ends no open fault is ignored.
            if (ended, step.node) in lasting:
                index = lasting.pop((ended, step.node))
                found[index] = replace(found[index], until_ns=step.at_ns)
    return tuple(found)


def _steps(path: Place) -> Iterable[Step]:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            step = json.loads(line)
            for odd in booleans(step, ("at_ns", "node")):
                raise ValueError(odd)
            yield Step(at_ns=int(step["at_ns"]), do=str(step["do"]), node=int(step["node"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error}"[:SHOWN]
            raise UnreadableHistory(
                f"{path}, line {number}: this is not a fault ({reason}); a "
                'fault is {"at_ns": integer, "do": text, "node": integer}: fix or delete the line'
            ) from error
