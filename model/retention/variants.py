"""Retention as it is, and what is deleted too early, or comes back, without one of its rules."""

from __future__ import annotations

from model.retention.bugs import (
    AnswersAlone,
    CleansPastHighWatermark,
    ExpiresUncommitted,
    JoinsWithOldRecords,
    LeavesMarkBehind,
    TakesLeadersStart,
)
from model.retention.spec import Retention
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="cleans-past-hw",
        spec="retention",
        kind="bug",
        cls=CleansPastHighWatermark,
        breaks="latest_values_are_kept",
        steps=5,
        id="T13",
        known_as="KAFKA-13194",
    ),
    Variant(
        name="expires-uncommitted",
        spec="retention",
        kind="bug",
        cls=ExpiresUncommitted,
        breaks="log_start_is_committed",
        steps=2,
        known_as="KAFKA-5634",
    ),
    Variant(
        name="leaves-mark-behind",
        spec="retention",
        kind="bug",
        cls=LeavesMarkBehind,
        breaks="log_start_is_committed",
        steps=5,
        known_as="KAFKA-9491",
    ),
    Variant(
        name="answers-alone",
        spec="retention",
        kind="bug",
        cls=AnswersAlone,
        breaks="deleted_stays_deleted",
        steps=6,
    ),
    Variant(
        name="takes-leaders-start",
        spec="retention",
        kind="bug",
        cls=TakesLeadersStart,
        breaks="log_starts_grow",
        steps=6,
    ),
    Variant(
        name="joins-with-old-records",
        spec="retention",
        kind="bug",
        cls=JoinsWithOldRecords,
        breaks="latest_values_are_kept",
        steps=8,
    ),
    Variant(name="kip-107", spec="retention", kind="version", cls=Retention, default=True),
)
