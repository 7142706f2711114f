"""A spec of the elections of one partition: a controller, and brokers that stop cleanly, crash or
lose a disk.

While fewer than min.insync.replicas brokers have stopped uncleanly, every record that acks=all
acknowledged must survive any election. With acks=1, a planned move of leadership may lose an
acknowledged record. The bug `trusts-one-ack` is a control experiment: an exploration of this bug
must find this loss.

In the version `controller-failover`, the controller may fail, and its changes are in a log. In the
version `changed-min-isr`, an operator changes min.insync.replicas. In the version
`log-directories`, a broker has two log directories, and one of them fails.

Source: KIP-497, KIP-903, KIP-966; Kafka 4.1 (PartitionChangeBuilder, ReplicationControlManager,
Partition); Vanlightly's kip-966 and v3.5 specifications for the claims.
Simplified: there is one partition, without reassignments. The setting
unclean.leader.election.enable is false, except in the bug `elects-anybody`.
"""

from model.election import (
    bugs,
    changed_min_isr,
    failover,
    failover_bugs,
    log_directories,
    log_directory_bugs,
    min_isr_bugs,
    versions,
)
from model.variants import variants_in

VARIANTS = variants_in(
    versions,
    failover,
    changed_min_isr,
    log_directories,
    bugs,
    failover_bugs,
    min_isr_bugs,
    log_directory_bugs,
)

__all__ = ["VARIANTS"]
