"""A claim: a promise or a warning of Kafka's documents, as an entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.releases import InForce

Engine = Literal["model", "proof", "suite", "history"]
Group = Literal["delivery", "log", "replication", "transactions", "groups", "cost"]


@dataclass(frozen=True, slots=True)
class Decider:
    """The engine that checks a claim, and what the engine checks: a suite, an anomaly or a model
    property.

    The name of a model property has the form `spec.property`.
    """

    engine: Engine
    name: str

    def __str__(self) -> str:
        return f"{self.engine} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of Kafka's documents, and the condition under which it holds.

    `broken_by` describes how the claim breaks without the condition.
    """

    id: str
    group: Group
    statement: str
    condition: str = ""
    broken_by: str = ""
    source: str
    in_force: InForce  # the releases of Kafka that promise it, or warn of it
    decided_by: tuple[Decider, ...] = ()
    explained: str = ""  # why no run decides the claim inside its condition, or outside
