"""The record of counterexamples: for each bug and old version of a spec, a shortest trace.

`python -m tools.counterexamples` writes the file; a test replays every trace.
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
    """A shortest trace that violates the claim `breaks`, at the constants of the variant.

    `steps` are the actions after the initial state, such as `leader_write(b0)`. For a liveness
    claim, the steps after step `loop` repeat forever; without such steps, the last state does. For
    a safety claim, `loop` is None.
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
    """Returns the recorded counterexamples by spec and variant."""
    rows = [Counterexample(**row) for row in json.loads(KEPT.read_text())]
    return {found.row: replace(found, steps=tuple(found.steps)) for found in rows}


def keep(record: Iterable[Counterexample]) -> None:
    """Writes the counterexamples to the file, one step per line, so diffs of it stay small."""
    rows = [asdict(found) for found in record]
    KEPT.write_text(json.dumps(rows, indent=1) + "\n")
