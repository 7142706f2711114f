"""A spec of the elections of a partition whose replicas change: the spec `election` with
reassignments.

A broker that is not a replica any more deletes its log. If the broker becomes a replica again, the
controller must not treat the broker as if it still had the deleted records.

Source: KIP-455, KIP-966; Kafka 4.3 (PartitionChangeBuilder, PartitionReassignmentReplicas,
PartitionReassignmentRevert, ReplicationControlManager); Vanlightly's kip-966 specification, which
has two rules that Kafka lacks.
Simplified: the simplifications of the spec `election` apply. The replica list has the order of the
brokers. A reassignment begins only when no other reassignment is in progress. The constant
`replicas` is the number of brokers. The constant `assigned` is the number of brokers that are
replicas at first.
"""

from model.reassignment import versions
from model.variants import variants_in

VARIANTS = variants_in(versions)

__all__ = ["VARIANTS"]
