"""KIP-848 as it is, and what its rules are for: who owned twice, never, or was refused."""

from __future__ import annotations

from model.consumer_group.bugs import (
    CommitsInAnyEpoch,
    ErasesWhatComesBack,
    ForgetsWhoRejoins,
    FreesAtOnce,
    LeavesEmptyGroupOpen,
    RefusesReturn,
    WantsExactEpoch,
)
from model.consumer_group.spec import GroupOwnership
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="erases-what-comes-back",
        spec="group-ownership",
        kind="bug",
        cls=ErasesWhatComesBack,
        breaks="no_double_assignment",
        steps=15,
        id="G1",
        known_as="KAFKA-16147",
    ),
    Variant(
        name="refuses-return",
        spec="group-ownership",
        kind="bug",
        cls=RefusesReturn,
        breaks="converges",
        steps=11,
        id="G2",
        known_as="KAFKA-19233",
    ),
    Variant(
        name="leaves-empty-group-open",
        spec="group-ownership",
        kind="bug",
        cls=LeavesEmptyGroupOpen,
        breaks="an_empty_group_is_settled",
        steps=2,
        id="G3",
        known_as="KAFKA-20442",
    ),
    Variant(
        name="wants-exact-epoch",
        spec="group-ownership",
        kind="bug",
        cls=WantsExactEpoch,
        breaks="owners_may_commit",
        steps=7,
        id="G4",
        known_as="KAFKA-20066",
    ),
    Variant(
        name="frees-at-once",
        spec="group-ownership",
        kind="bug",
        cls=FreesAtOnce,
        breaks="one_reader",
        steps=10,
    ),
    Variant(
        name="forgets-who-rejoins",
        spec="group-ownership",
        kind="bug",
        cls=ForgetsWhoRejoins,
        breaks="epochs_grow",
        steps=4,
    ),
    Variant(
        name="commits-in-any-epoch",
        spec="group-ownership",
        kind="bug",
        cls=CommitsInAnyEpoch,
        breaks="only_owners_commit",
        steps=5,
    ),
    Variant(
        name="kip-1251", spec="group-ownership", kind="version", cls=GroupOwnership, default=True
    ),
)
