"""The only version of the spec `idempotence-abstract`, whose claims are proved."""

from __future__ import annotations

from model.idempotence_abstract.claims import AbstractIdempotenceClaims
from model.releases import LATEST, kafka
from model.variants import version


@version("kip-360", in_force=kafka("2.5", LATEST, "and a check of first sequences"), default=True)
class IdempotentProducer(AbstractIdempotenceClaims):
    """A leader appends only the record that continues the producer's records in the log.

    The first record of a producer epoch has sequence 0. Kafka up to 4.3 checks this for a producer
    that it knows, and in transactions of version 2; the full check is promised (KAFKA-15591).
    """
