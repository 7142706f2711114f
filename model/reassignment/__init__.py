"""Elections of a partition whose replicas change: the spec `election` with reassignments.

A broker that is no replica any more deletes its log. If the broker becomes a replica again, the
controller must not treat it as if it still had the deleted records.

Source: KIP-455, KIP-966; Kafka 4.3 (PartitionChangeBuilder, PartitionReassignmentReplicas,
PartitionReassignmentRevert, ReplicationControlManager); Vanlightly's kip-966 specification for the
two rules that Kafka lacks.
Simplified: as in `election`. The replica list has the order of the brokers. A reassignment begins
only when none is in progress. The constant `replicas` is the number of brokers; `assigned` is the
number of brokers that are replicas at first.
"""

from model.reassignment import versions
from model.variants import variants_in

VARIANTS = variants_in(versions)

__all__ = ["VARIANTS"]
