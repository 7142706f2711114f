"""The versions of truncation, oldest first, and what is lost without a rule of the last."""

from __future__ import annotations

from model.replication.bugs import CountsOldEpochs, JoinsBeforeEpoch, TruncatesEarly
from model.replication.spec import TruncateToHighWatermark
from model.replication.versions import Kip101, Kip279, Kip320, Kip320FirstTry
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="truncate-to-hw",
        spec="replication",
        kind="version",
        cls=TruncateToHighWatermark,
        breaks="weak_isr",
        steps=8,
        see={"replicas": 2, "max_leader_epoch": 2},
        id="R1",
        known_as="KAFKA-1211",
    ),
    Variant(
        name="kip-101",
        spec="replication",
        kind="version",
        cls=Kip101,
        breaks="strong_isr",
        steps=11,
        see={"replicas": 2, "max_leader_epoch": 2},
        id="R3",
        known_as="KAFKA-6361",
    ),
    Variant(
        name="kip-279",
        spec="replication",
        kind="version",
        cls=Kip279,
        breaks="strong_isr",
        steps=10,
        see={"max_leader_epoch": 2},
        id="R4",
        known_as="KAFKA-6880",
    ),
    Variant(
        name="kip-320-first-try",
        spec="replication",
        kind="version",
        cls=Kip320FirstTry,
        breaks="strong_isr",
        steps=12,
        see={"max_leader_epoch": 2},
        id="R5",
        known_as="KIP-320",
    ),
    Variant(
        name="counts-old-epochs",
        spec="replication",
        kind="bug",
        cls=CountsOldEpochs,
        breaks="strong_isr",
        steps=12,
        see={"max_leader_epoch": 2},
        known_as="KIP-320",
    ),
    Variant(
        name="truncates-early",
        spec="replication",
        kind="bug",
        cls=TruncatesEarly,
        breaks="strong_isr",
        steps=13,
        see={"max_leader_epoch": 2},
        known_as="KIP-320",
    ),
    Variant(
        name="joins-before-epoch",
        spec="replication",
        kind="bug",
        cls=JoinsBeforeEpoch,
        breaks="strong_isr",
        steps=11,
        see={"max_leader_epoch": 2},
        id="R6",
        known_as="KAFKA-7128",
    ),
    Variant(name="kip-320", spec="replication", kind="version", cls=Kip320, default=True),
)
