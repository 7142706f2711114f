"""Steps of a trace that may lose committed records, and the records that were lost.

A record below a high watermark is committed, because a leader may acknowledge it with acks=all. A
committed record is lost in two cases: a new leader begins without it, or an old leader commits it
after the new leader has begun without it.

Source: `model.replication_abstract.losses`; KIP-106; KIP-966; KAFKA-15584.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final


@unique
class Kind(StrEnum):
    """The kinds of steps that may lose committed records. The option `--allow` uses the same
    names.
    """

    UNCLEAN = "unclean-election"
    LAST_KNOWN = "last-known-leader"
    LOST_END = "lost-log"


HAPPENED: Final[Mapping[Kind, str]] = {
    Kind.UNCLEAN: "is elected from outside ISR and ELR",
    Kind.LAST_KNOWN: "is elected as the last known leader, with ISR and ELR empty",
    Kind.LOST_END: "restarts with a shorter log",
}
CONDITION: Final[Mapping[Kind, str]] = {
    Kind.UNCLEAN: "unclean.leader.election.enable=true, or an unclean election by hand, allows it",
    Kind.LAST_KNOWN: "Kafka allows it since 4.0 with eligible.leader.replicas.version=1",
    Kind.LOST_END: "a power loss or a lost disk allows it: Kafka acknowledges before it flushes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyStep:
    """A step that may lose committed records. `leader_epoch` is the newest leader epoch at the
    time of the step.
    """

    kind: Kind
    broker: int
    leader_epoch: int
    place: str

    def __str__(self) -> str:
        return (
            f"broker {self.broker} {HAPPENED[self.kind]}, in leader epoch {self.leader_epoch}"
            f" ({self.place}); {CONDITION[self.kind]}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss of committed records: the lost offsets, the reason, and the steps that may have
    caused the loss.
    """

    offsets: tuple[int, ...]
    committed: int  # the number of committed records before
    why: str
    steps: tuple[LossyStep, ...]

    def is_allowed(self, allowed: Collection[Kind]) -> bool:
        """Returns True if `allowed` has the kind of every step that caused the loss. Several steps
        may have caused it together.
        """
        return {step.kind for step in self.steps} <= {*allowed}

    def __str__(self) -> str:
        first, last = self.offsets[0], self.offsets[-1]
        where = f"offset {first}" if first == last else f"offsets {first} to {last}"
        return (
            f"{self.why}: {len(self.offsets)} of {self.committed} committed records are lost,"
            f" {where}"
        )
