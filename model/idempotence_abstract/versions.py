"""The version of the idempotent producer for which the claims are proved."""

from __future__ import annotations

from model.idempotence_abstract.claims import AbstractIdempotenceClaims
from model.variants import LATEST, kafka, version


@version("kip-360", in_force=kafka("2.5", LATEST), default=True)
class IdempotentProducer(AbstractIdempotenceClaims):
    """A leader appends a record only if it continues the producer's records in the log."""
