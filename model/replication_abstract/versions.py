"""The version of replication that is proved."""

from __future__ import annotations

from model.replication_abstract.proof import ReplicationLemmas
from model.variants import LATEST, kafka, version


@version("kip-497", in_force=kafka("2.7", LATEST), default=True)
class ReplicationProof(ReplicationLemmas):
    """Today's protocol, with the lemmas that prove it for every number of everything."""
