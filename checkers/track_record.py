"""The track record: the steps and states needed to catch each bug and each old version.

`track_record.json` has one line for each of these variants of specs. `python -m tools.track_record`
writes the file, and a test repeats the runs of every line.
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
    """The results of two searches: in a buggy variant, and in the variant that fixes the bug.

    `steps` is the length of a shortest counterexample. `states` counts distinct states, up to the
    violation; for liveness, all states.
    """

    spec: str
    variant: str
    breaks: str
    verdict: Verdict
    steps: int
    states: int
    fixed_by: str  # the variant that fixes it, explored with the same constants
    fixed_verdict: Verdict
    fixed_states: int

    @property
    def row(self) -> tuple[str, str]:
        return self.spec, self.variant

    def __str__(self) -> str:
        fixed = f"{self.fixed_by} {self.fixed_verdict} in all {self.fixed_states:,}"
        return f"in {self.steps} steps, {self.states:,} states; {fixed}"


def kept() -> Mapping[tuple[str, str], Caught]:
    """Returns the results in `track_record.json` by spec and variant."""
    rows = [Caught(**row) for row in json.loads(KEPT.read_text())]
    return {caught.row: caught for caught in rows}


def keep(record: Iterable[Caught]) -> None:
    lines = ",\n".join(json.dumps(asdict(caught)) for caught in record)
    KEPT.write_text(f"[\n{lines}\n]\n")
