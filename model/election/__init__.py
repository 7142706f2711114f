"""Elections of one partition: a controller, and brokers that stop cleanly, crash or lose a disk.

Every record that acks=all acknowledged must survive any election while fewer than
min.insync.replicas brokers have stopped uncleanly. With acks=1, a planned move of leadership may
lose an acknowledged record: the bug `trusts-one-ack`, a control experiment, must find this loss.

Source: KIP-497, KIP-903, KIP-966; Kafka 4.1 (PartitionChangeBuilder, ReplicationControlManager,
Partition); Vanlightly's kip-966 and v3.5 specifications for the claims.
The version `controller-failover` has a controller that fails, and the log of its changes. In the
version `changed-min-isr` an operator changes min.insync.replicas.

Simplified: one partition without reassignment. unclean.leader.election.enable is false, except in
the bug `elects-anybody`.
"""

from model.election import (
    bugs,
    changed_min_isr,
    failover,
    failover_bugs,
    min_isr_bugs,
    versions,
)
from model.variants import variants_in

VARIANTS = variants_in(versions, failover, changed_min_isr, bugs, failover_bugs, min_isr_bugs)

__all__ = ["VARIANTS"]
