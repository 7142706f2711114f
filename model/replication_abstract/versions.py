"""The version of replication that is proved."""

from __future__ import annotations

from model.replication_abstract.proof import ReplicationLemmas
from model.variants import LATEST, kafka, version


@version("kip-497", in_force=kafka("2.7", LATEST), default=True)
class ReplicationProof(ReplicationLemmas):
    """Today's protocol, with lemmas that prove its claims for any number of replicas and
    offsets.
    """
