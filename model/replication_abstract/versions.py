"""The two versions of the spec `replication-abstract`: one has a proof, and the other models steps
that lose committed records.
"""

from __future__ import annotations

from model.releases import LATEST, kafka
from model.replication_abstract.losses_claims import ReplicationWithLosses
from model.replication_abstract.proof import ReplicationLemmas
from model.variants import version


@version("kip-497", in_force=kafka("2.7", LATEST), default=True)
class ReplicationProof(ReplicationLemmas):
    """Today's protocol, with lemmas that prove its claims for any number of replicas, leader epochs
    and offsets.
    """


@version(
    "with-losses",
    in_force=kafka("2.7", LATEST, needs="unclean elections, power losses and lost disks"),
)
class WithLosses(ReplicationWithLosses):
    """Today's protocol with unclean elections, elections of the last known leader, power losses and
    lost disks.
    """
