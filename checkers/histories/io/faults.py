"""What was done to a cluster while its history was recorded: `faults.ndjson` of the folder.

    {"at_ns": 12, "do": "kill", "node": 1}
    {"at_ns": 30, "do": "start", "node": 1}

on the clock of the history, in order. A `start` or `restart` ends a kill of the node, a `resume` a
pause, a `heal` an isolation. A report draws them; no verdict looks at them, for a fault excuses
nothing. A history without the file tells of no faults.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from checkers.histories.io.recorded import UnreadableHistory

FILE: Final = "faults.ndjson"
ENDS: Final = {"start": "kill", "restart": "kill", "resume": "pause", "heal": "isolate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something done to a node, on the recorder's monotonic clock."""

    at_ns: int
    do: str
    node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A node that was killed, paused, isolated: until something ended it, or to the end."""

    do: str
    node: int
    from_ns: int
    until_ns: int | None = None


def keep(folder: Path, steps: Iterable[Step]) -> None:
    """Writes what was done beside the history in its folder."""
    lines = "".join(json.dumps(asdict(step)) + "\n" for step in steps)
    (folder / FILE).write_text(lines, encoding="utf-8")


def faults(history: Path) -> tuple[Fault, ...]:
    """The faults of a recorded folder in the order of their beginnings; UnreadableHistory."""
    path = history / FILE
    return paired(_steps(path)) if path.is_file() else ()


def paired(steps: Iterable[Step]) -> tuple[Fault, ...]:
    """What was done with what ended it; what ends nothing is no fault.

    >>> paired([Step(at_ns=1, do="kill", node=2), Step(at_ns=5, do="start", node=2)])
    (Fault(do='kill', node=2, from_ns=1, until_ns=5),)
    """
    found: list[Fault] = []
    lasting: dict[tuple[str, int], int] = {}  # the place of each that nothing has ended yet
    for step in sorted(steps, key=lambda one: one.at_ns):
        ended = ENDS.get(step.do)
        if ended is None and (step.do, step.node) not in lasting:
            lasting[step.do, step.node] = len(found)
            found.append(Fault(do=step.do, node=step.node, from_ns=step.at_ns))
        elif ended is not None and (ended, step.node) in lasting:
            place = lasting.pop((ended, step.node))
            found[place] = replace(found[place], until_ns=step.at_ns)
    return tuple(found)


def _steps(path: Path) -> Iterable[Step]:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            told = json.loads(line)
            yield Step(at_ns=int(told["at_ns"]), do=str(told["do"]), node=int(told["node"]))
        except (ValueError, KeyError, TypeError) as why:
            raise UnreadableHistory(
                f"{path}, line {number}: no fault ({type(why).__name__}: {why}); mend that line, "
                "or delete it"
            ) from why
