"""What is lost without a rule of the proof, at a small scope."""

from __future__ import annotations

from model.replication_abstract.bugs import (
    CutsAtHighWatermark,
    JoinsAtHighWatermark,
    LosesItsTail,
)
from model.replication_abstract.proof import ReplicationProof
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="cuts-at-hw",
        spec="replication-abstract",
        kind="bug",
        cls=CutsAtHighWatermark,
        breaks="isr_has_what_is_committed",
        steps=6,
        see={"leader_epochs": 2},
    ),
    Variant(
        name="joins-at-hw",
        spec="replication-abstract",
        kind="bug",
        cls=JoinsAtHighWatermark,
        breaks="isr_has_what_is_committed",
        steps=9,
        see={"leader_epochs": 2},
    ),
    Variant(
        name="loses-its-tail",
        spec="replication-abstract",
        kind="bug",
        cls=LosesItsTail,
        breaks="isr_has_what_is_committed",
        steps=5,
        see={"leader_epochs": 2},
    ),
    Variant(
        name="kip-497",
        spec="replication-abstract",
        kind="version",
        cls=ReplicationProof,
        default=True,
    ),
)
