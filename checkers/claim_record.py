"""The record of the claims: a JSON file with the verdict of each engine on each claim.

`python -m tools.claims` writes the file `claim_record.json`, one verdict per line. Each claim has a
condition, such as acks=all. The claim is checked in configurations that satisfy the condition, and
in configurations that do not.
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

    - `side` is `inside` if the cluster or the spec satisfies the condition under which the claim
      is promised, else `outside`.
    - `engine` is what decided the claim, such as a suite or the explorer.
    - `name` is the suite, the anomaly or the spec's property that decided the claim.
    - `where` is the suite's configuration of the cluster, or the variant of the spec. For an
      anomaly, it is the simulated workload or the bug that was put into the simulated broker.
    - `counterexample` is a program that a user can paste, or a command that a user can type. If the
      claim states that a state can be reached, the program or command is an example that reaches
      it.
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
    return tuple(Decided(**row) for row in json.loads(KEPT.read_text(encoding="utf-8")))


def keep(record: Iterable[Decided]) -> None:
    lines = ",\n".join(json.dumps(asdict(decided)) for decided in record)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
