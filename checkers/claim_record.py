"""The record of the claims: the verdicts of each engine, in a JSON file.

`python -m tools.claims` writes one verdict per line to `claim_record.json`. Each claim has a
condition, such as acks=all; the claim is checked where the condition holds, and where it does not.
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
    """One engine's verdict on a claim.

    - `side` is `inside` if the claim's condition is true, else `outside`.
    - `name` is the suite, anomaly or property of a spec that decided the claim.
    - `where` is the suite's configuration of the cluster, or the variant of the spec. For an
      anomaly, it is the simulated workload or the seeded bug.
    - `counterexample` is a program to paste, or a command to type. If the claim is that a state can
      be reached, it shows how.
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
    return tuple(Decided(**row) for row in json.loads(KEPT.read_text()))


def keep(record: Iterable[Decided]) -> None:
    lines = ",\n".join(json.dumps(asdict(decided)) for decided in record)
    KEPT.write_text(f"[\n{lines}\n]\n")
