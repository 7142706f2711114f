"""The record of `tools.convictions`: for each case, the numbers of histories and anomalies.

The histories of a case have consecutive seeds. For example, 20 histories have the seeds 0 to 19,
and the next run continues with seed 20.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

KEPT: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "convictions.json"
JUDGED: Final = frozenset({"holds", "violated"})  # with any other verdict, no anomaly is judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The verdict on one history, and the anomalies of the history that are not permitted."""

    case: str
    seed: int
    verdict: str  # of the analysis, or the name of the error that ended the run
    raised: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Tally:
    """The counts of one case.

    `first` maps each anomaly to the first seed whose history has the anomaly. It also maps each
    verdict that judges no anomaly, such as `no progress`, to its first seed.
    """

    case: str
    histories: int = 0
    verdicts: dict[str, int] = field(default_factory=dict[str, int])
    raised: dict[str, int] = field(default_factory=dict[str, int])
    first: dict[str, int] = field(default_factory=dict[str, int])  # anomaly or verdict -> seed

    def add(self, outcome: Outcome) -> None:
        self.histories += 1
        self.verdicts[outcome.verdict] = self.verdicts.get(outcome.verdict, 0) + 1
        if outcome.verdict not in JUDGED:
            self.first.setdefault(outcome.verdict, outcome.seed)
        for anomaly in outcome.raised:
            self.raised[anomaly] = self.raised.get(anomaly, 0) + 1
            self.first.setdefault(anomaly, outcome.seed)


def kept(file: Path = KEPT) -> dict[str, Tally]:
    """Returns the counts by the name of the case, or {} if there is no file."""
    if not file.exists():
        return {}
    return {row["case"]: Tally(**row) for row in json.loads(file.read_text(encoding="utf-8"))}


def keep(tallies: Iterable[Tally], file: Path = KEPT) -> None:
    rows = [
        json.dumps({name: cell for name, cell in asdict(one).items() if cell != {}}, sort_keys=True)
        for one in sorted(tallies, key=lambda it: it.case)
    ]
    partial = file.with_suffix(".partial")
    partial.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    partial.replace(file)
