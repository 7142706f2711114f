"""The idempotent producer of today, and what went wrong with it or may."""

from __future__ import annotations

from model.idempotence import bugs
from model.idempotence.spec import IdempotentProducer
from model.variants import Constants, Variant

QUIET: Constants = {  # two batches, no fault: a row adds what its bug needs
    "batches": 2,
    "leader_changes": 0,
    "deletes": False,
    "gives_up": False,
}

VARIANTS: tuple[Variant, ...] = (
    Variant(
        name="kip-98",
        spec="idempotence",
        kind="version",
        cls=bugs.Kip98,
        breaks="the_next_is_accepted",
        steps=6,
        see={**QUIET, "deletes": True},
        id="I2",
        known_as="KAFKA-7190",
    ),
    Variant(
        name="checks-copies",
        spec="idempotence",
        kind="bug",
        cls=bugs.ChecksCopies,
        breaks="followers_can_copy",
        steps=7,
        see={**QUIET, "deletes": True},
        id="I8",
        known_as="KAFKA-6003",
    ),
    Variant(
        name="window-of-one",
        spec="idempotence",
        kind="bug",
        cls=bugs.WindowOfOne,
        breaks="at_most_once",
        steps=6,
        see=QUIET,
        id="I4",
        known_as="KAFKA-5494",
    ),
    Variant(
        name="keeps-sequences",
        spec="idempotence",
        kind="bug",
        cls=bugs.KeepsSequences,
        breaks="the_next_is_accepted",
        steps=8,
        see={**QUIET, "batches": 3, "partitions": 2, "gives_up": True},
        id="I5",
        known_as="KAFKA-12152",
    ),
    Variant(
        name="renumbers-backwards",
        spec="idempotence",
        kind="bug",
        cls=bugs.RenumbersBackwards,
        breaks="as_it_was_sent",
        steps=7,
        see={**QUIET, "batches": 3, "max_in_flight": 3, "gives_up": True},
        id="I6",
        known_as="KAFKA-8483",
    ),
    Variant(
        name="any-first-sequence",
        spec="idempotence",
        kind="bug",
        cls=bugs.AnyFirstSequence,
        breaks="in_order_without_gaps",
        steps=3,
        see=QUIET,
        id="I1",
        known_as="KAFKA-15591",
    ),
    Variant(
        name="expires",
        spec="idempotence",
        kind="bug",
        cls=bugs.Expires,
        breaks="at_most_once",
        steps=4,
        see=QUIET,
        id="I9",
        known_as="producer.id.expiration.ms",
    ),
    Variant(
        name="snapshot-keeps-newest",
        spec="idempotence",
        kind="bug",
        cls=bugs.SnapshotKeepsNewest,
        breaks="at_most_once",
        steps=10,
        see={**QUIET, "leader_changes": 2},
    ),
    Variant(
        name="kip-360",
        spec="idempotence",
        kind="version",
        cls=IdempotentProducer,
        default=True,
    ),
)
