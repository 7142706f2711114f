"""Committed offsets as they are, and what was lost or done twice without one of their rules."""

from __future__ import annotations

from model.group_offsets.bugs import (
    CountsAborted,
    DropsDeletedGroups,
    ExpiresInRebalance,
    ForgetsGeneration,
    ForgetsRefused,
    RanksByMarker,
    TellsUnstable,
)
from model.group_offsets.spec import GroupOffsets
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="forgets-generation",
        spec="group-offsets",
        kind="bug",
        cls=ForgetsGeneration,
        breaks="each_input_once",
        steps=14,
        id="T15",
        known_as="KIP-447",
    ),
    Variant(
        name="tells-unstable",
        spec="group-offsets",
        kind="bug",
        cls=TellsUnstable,
        breaks="each_input_once",
        steps=14,
        known_as="KIP-447",
    ),
    Variant(
        name="forgets-refused",
        spec="group-offsets",
        kind="bug",
        cls=ForgetsRefused,
        breaks="pending_is_decided",
        steps=5,
        id="T16",
        known_as="KAFKA-16371",
    ),
    Variant(
        name="expires-in-rebalance",
        spec="group-offsets",
        kind="bug",
        cls=ExpiresInRebalance,
        breaks="committed_offsets_last",
        steps=3,
        id="G7",
        known_as="KAFKA-13636",
    ),
    Variant(
        name="drops-deleted-groups",
        spec="group-offsets",
        kind="bug",
        cls=DropsDeletedGroups,
        breaks="committed_is_the_last_that_counts",
        steps=7,
        id="G8",
        known_as="KAFKA-4704",
    ),
    Variant(
        name="ranks-by-marker",
        spec="group-offsets",
        kind="bug",
        cls=RanksByMarker,
        breaks="committed_is_the_last_that_counts",
        steps=11,
    ),
    Variant(
        name="counts-aborted",
        spec="group-offsets",
        kind="bug",
        cls=CountsAborted,
        breaks="no_input_is_skipped",
        steps=8,
    ),
    Variant(name="kip-447", spec="group-offsets", kind="version", cls=GroupOffsets, default=True),
)
