"""The record of the claims: which runs decided each, inside its condition and outside.

`claim_record.json` keeps it, a run on a line. `python -m tools.claims` makes it; a test runs
the programs that it keeps again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from checkers.verdicts import Verdict
from properties.claims.claim import Engine

KEPT: Final = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A claim on one side of its condition, as an engine decided it when the record was made.

    `name` is a suite's, an anomaly's or `spec.property`; `where` is the setting, the variant, the
    bug; `searched` is how far. The counterexample is a program to paste, or a line to type; where
    something can happen, it is the example that shows it.
    """

    claim: str
    engine: Engine
    name: str
    side: Literal["inside", "outside"]
    where: str
    verdict: Verdict
    searched: str
    counterexample: str = ""

    @property
    def decider(self) -> tuple[Engine, str]:
        return self.engine, self.name

    def __str__(self) -> str:
        return f"{self.engine} {self.name}, {self.where}: {self.verdict}, {self.searched}"


def kept() -> tuple[Decided, ...]:
    """Every run, as it was when the record was last made."""
    return tuple(Decided(**row) for row in json.loads(KEPT.read_text()))


def keep(record: Iterable[Decided]) -> None:
    """Writes the record."""
    lines = ",\n".join(json.dumps(asdict(decided)) for decided in record)
    KEPT.write_text(f"[\n{lines}\n]\n")
