"""The track record: how many steps and states the search needed to find each bug, and to find the
violation in each old version of a spec.

`track_record.json` has one line for each bug and each old version. `python -m tools.track_record`
writes the file, and a test repeats the searches of every line.
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
    """The results of two searches: one in a buggy variant of a spec, and one in the variant that
    fixes the bug.

    `steps` is the length of a shortest counterexample. `states` is the number of distinct states
    that the search visited until it found the violation. For a liveness claim, it is the number of
    all reachable states.
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
    """Returns the results in `track_record.json`. The key of each result is the pair of its spec
    and its variant.
    """
    rows = [Caught(**row) for row in json.loads(KEPT.read_text(encoding="utf-8"))]
    return {caught.row: caught for caught in rows}


def keep(record: Iterable[Caught]) -> None:
    lines = ",\n".join(json.dumps(asdict(caught)) for caught in record)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
