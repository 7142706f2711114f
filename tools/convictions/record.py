"""The record of `tools.convictions`: for each case, counts of histories and anomalies.

A case is a workload with one planted fault, or without a fault. The record is a JSON file. If a
case has 20 histories, their seeds are 0 to 19, and the next run continues with seed 20.
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
    """The verdict on one history, and the anomalies found that are not permitted."""

    case: str
    seed: int
    verdict: str  # of the analysis, or the name of the error that ended the run
    raised: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Tally:
    """The counts of one case: its histories, their verdicts, and their anomalies.

    A case is a workload with one planted fault, or without a fault. `first` has the first seed with
    each anomaly.
    """

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
    """Returns the recorded counts of anomalies, by name of the case; {} if there is no file.

    A case is a workload with one planted fault, or without a fault.
    """
    if not file.exists():
        return {}
    return {row["case"]: Tally(**row) for row in json.loads(file.read_text(encoding="utf-8"))}


def keep(tallies: Iterable[Tally], file: Path = KEPT) -> None:
    """Writes the counts to the JSON file, one line for each planted fault, ordered by name."""
    rows = [
        json.dumps({name: cell for name, cell in asdict(one).items() if cell != {}}, sort_keys=True)
        for one in sorted(tallies, key=lambda it: it.case)
    ]
    partial = file.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    partial.replace(file)
