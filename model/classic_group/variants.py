"""Classic groups as they are, and who owned or lost what without one of their rules."""

from __future__ import annotations

from model.classic_group.bugs import (
    AcceptsAnyone,
    AddsInstances,
    BelievesOldClaims,
    ForgetsReplacement,
    HearsOldAnswers,
    WaitsForLeader,
)
from model.classic_group.spec import GroupGenerations
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="adds-instances",
        spec="group-generations",
        kind="bug",
        cls=AddsInstances,
        breaks="one_member_of_an_instance",
        steps=4,
        id="G6",
        known_as="KAFKA-8500",
    ),
    Variant(
        name="forgets-replacement",
        spec="group-generations",
        kind="bug",
        cls=ForgetsReplacement,
        breaks="a_stable_group_survives",
        steps=6,
        id="G6",
        known_as="KAFKA-10284",
    ),
    Variant(
        name="hears-old-answers",
        spec="group-generations",
        kind="bug",
        cls=HearsOldAnswers,
        breaks="old_answers_change_nothing",
        steps=11,
        id="G9",
        known_as="KAFKA-9823",
    ),
    Variant(
        name="believes-old-claims",
        spec="group-generations",
        kind="bug",
        cls=BelievesOldClaims,
        breaks="one_owner",
        steps=13,
        id="G10",
        known_as="KAFKA-7026",
    ),
    Variant(
        name="waits-for-leader",
        spec="group-generations",
        kind="bug",
        cls=WaitsForLeader,
        breaks="who_joins_hears",
        steps=3,
        known_as="KAFKA-12890",
    ),
    Variant(
        name="accepts-anyone",
        spec="group-generations",
        kind="bug",
        cls=AcceptsAnyone,
        breaks="only_owners_commit",
        steps=6,
    ),
    Variant(
        name="kip-345", spec="group-generations", kind="version", cls=GroupGenerations, default=True
    ),
)
