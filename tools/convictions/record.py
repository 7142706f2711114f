"""The record of the campaign: for each case the number of its histories and what they raised.

It is kept as JSON. The seeds of a case are 0 to `histories` - 1, so a campaign goes on where the
last one ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

KEPT: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "convictions.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on one history, and the anomalies that were raised although not permitted."""

    case: str
    seed: int
    verdict: str  # of the analysis, or the name of the error that ended the run
    raised: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the histories of one case raised: counts, and for each anomaly the first seed."""

    case: str
    histories: int = 0
    verdicts: dict[str, int] = field(default_factory=dict[str, int])
    raised: dict[str, int] = field(default_factory=dict[str, int])
    first: dict[str, int] = field(default_factory=dict[str, int])  # anomaly -> seed

    def add(self, outcome: Outcome) -> None:
        self.histories += 1
        self.verdicts[outcome.verdict] = self.verdicts.get(outcome.verdict, 0) + 1
        for anomaly in outcome.raised:
            self.raised[anomaly] = self.raised.get(anomaly, 0) + 1
            self.first.setdefault(anomaly, outcome.seed)


def kept(file: Path = KEPT) -> dict[str, Tally]:
    """Returns the tallies by case; none if there is no record yet."""
    if not file.exists():
        return {}
    return {row["case"]: Tally(**row) for row in json.loads(file.read_text(encoding="utf-8"))}


def keep(tallies: Iterable[Tally], file: Path = KEPT) -> None:
    """Writes the record: one line for each case, ordered by name."""
    rows = [
        json.dumps({name: cell for name, cell in asdict(one).items() if cell != {}}, sort_keys=True)
        for one in sorted(tallies, key=lambda it: it.case)
    ]
    partial = file.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    partial.replace(file)
