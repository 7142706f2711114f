"""The record of counterexamples: for each bug and each old version of a spec, one shortest trace
that violates a claim.

`python -m tools.counterexamples` writes the file, and a test replays every trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

KEPT: Final = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A shortest trace that violates the claim `breaks`, at the constants that are recorded for the
    variant.

    `steps` are the actions after the initial state, such as `leader_write(b0)`.

    `loop` is None if the claim is a safety claim. For a liveness claim, the steps after step number
    `loop` repeat forever. If no step follows step `loop`, the trace stays in its final state
    forever.
    """

    spec: str
    variant: str
    breaks: str
    steps: tuple[str, ...]
    loop: int | None = None

    @property
    def row(self) -> tuple[str, str]:
        return self.spec, self.variant

    def __str__(self) -> str:
        width = len(str(len(self.steps)))
        lines = [f"{number:>{width}}  {call}" for number, call in enumerate(self.steps, 1)]
        return "\n".join([*lines, *self._repeated(), f"violates {self.breaks}"])

    def _repeated(self) -> list[str]:
        match self.loop:
            case None:
                return []
            case last if last == len(self.steps):
                return ["nothing more happens"]
            case before:
                return [f"steps {before + 1} to {len(self.steps)} repeat forever"]


def kept() -> Mapping[tuple[str, str], Counterexample]:
    """Returns the recorded counterexamples. The key of each one is the pair of its spec and its
    variant.
    """
    rows = [Counterexample(**row) for row in json.loads(KEPT.read_text(encoding="utf-8"))]
    return {found.row: replace(found, steps=tuple(found.steps)) for found in rows}


def keep(record: Iterable[Counterexample]) -> None:
    """Writes the counterexamples to the file. Each step is a line of the file, so that a change of
    one step changes one line.
    """
    rows = [asdict(found) for found in record]
    KEPT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
