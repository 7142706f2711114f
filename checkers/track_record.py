"""The track record: what it took to catch each bug and old version of the table of variants.

`track_record.json` keeps it, a row of the table on a line. `python -m tools.track_record`
makes it, and a test runs every row again: counts are of distinct states, the same on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from checkers.verdicts import Verdict

KEPT: Final = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """A row that was run: as it was, until its property failed, and as it was mended, to the end.

    `states` were seen when a shortest counterexample, of so many `steps`, was found; of a claim
    about behaviours, all there are.
    """

    spec: str
    variant: str
    breaks: str
    verdict: Verdict
    steps: int
    states: int
    mended: str  # the variant that mends it, in the same bounds
    mended_verdict: Verdict
    mended_states: int

    @property
    def row(self) -> tuple[str, str]:
        return self.spec, self.variant

    def __str__(self) -> str:
        mended = f"{self.mended} {self.mended_verdict} in all {self.mended_states:,}"
        return f"in {self.steps} steps, {self.states:,} states; {mended}"


def kept() -> Mapping[tuple[str, str], Caught]:
    """Every row as it was caught when the record was last made."""
    rows = [Caught(**row) for row in json.loads(KEPT.read_text())]
    return {caught.row: caught for caught in rows}


def keep(record: Iterable[Caught]) -> None:
    """Writes the record."""
    lines = ",\n".join(json.dumps(asdict(caught)) for caught in record)
    KEPT.write_text(f"[\n{lines}\n]\n")
