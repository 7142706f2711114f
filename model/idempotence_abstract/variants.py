"""What is broken without a rule of the idempotent producer."""

from __future__ import annotations

from model.idempotence_abstract.bugs import AnyEpoch, AnySequence, UncleanElection
from model.idempotence_abstract.spec import IdempotentProducer
from model.variants import Variant

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="any-sequence",
        spec="idempotence-abstract",
        kind="bug",
        cls=AnySequence,
        breaks="in_order_without_duplicates",
        steps=2,
    ),
    Variant(
        name="any-epoch",
        spec="idempotence-abstract",
        kind="bug",
        cls=AnyEpoch,
        breaks="epochs_do_not_go_back",
        steps=2,
    ),
    Variant(
        name="unclean-election",
        spec="idempotence-abstract",
        kind="bug",
        cls=UncleanElection,
        breaks="acknowledged_is_durable",
        steps=5,
    ),
    Variant(
        name="kip-360",
        spec="idempotence-abstract",
        kind="version",
        cls=IdempotentProducer,
        default=True,
    ),
)
