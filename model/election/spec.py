"""Elections of one partition: a controller, brokers that crash in four ways, acknowledged records.

What is acknowledged with acks=all must survive any election as long as fewer than
min.insync.replicas have stopped uncleanly. What acks=1 acknowledges is every record that was ever
written: it may be lost in a planned move (`bugs.py` has the control that shows it).

The parts: `partition.py` is the state, `brokers.py` and `controller.py` what happens to it,
`claims.py` what must hold; `versions.py` says how the protocol came to be.

Source: KIP-497, KIP-903, KIP-966; Kafka 4.1 (PartitionChangeBuilder, ReplicationControlManager,
Partition); Vanlightly's kip-966 and v3.5 specifications for the claims.
Simplified: one partition without reassignment; unclean.leader.election.enable is false, but for the
bug `elects-anybody`.
"""

from __future__ import annotations

from model.election.claims import ElectionClaims
from model.election.partition import Replica
from model.language import Bool, exists, witness


class Election(ElectionClaims):
    """Kafka 4.1: eligible leaders, and the last known leader when there is none."""

    @witness
    def somebody_is_eligible(s) -> Bool:
        """A broker outside the ISR may be elected once it is back."""
        return exists(s.quorum.elr[r] for r in Replica)
