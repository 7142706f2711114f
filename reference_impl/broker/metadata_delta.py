"""Applies the changes between two metadata images to the replicas of a broker.

If the new image does not assign a partition to the broker, the broker deletes its log of this
partition (module `deleted_topics`).

Source: ReplicaManager.applyDelta of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from model.vocabulary import TopicPartition
from reference_impl.broker.deleted_topics import remaining
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.context import Context
from reference_impl.node.step import Effects
from reference_impl.partition.roles import Replica, apply_state
from reference_impl.protocol.controller import MetadataImage


class Applied(NamedTuple):
    """The replicas and logs of a broker after it has applied a new metadata image, and the effects
    of this step.

    `unassigned` has the logs that were on the broker's disk at its start, and that have no replica
    yet.
    """

    replicas: Mapping[TopicPartition, Replica]
    unassigned: Mapping[TopicPartition, PartitionLog]
    effects: Effects


def applied(
    replicas: Mapping[TopicPartition, Replica],
    unassigned: Mapping[TopicPartition, PartitionLog],
    before: MetadataImage,
    after: MetadataImage,
    context: Context,
) -> Applied:
    me = context.broker_id
    kept, stored_logs, stopped = remaining(replicas, unassigned, after, me)
    replicas, unassigned, effects = dict(kept), dict(stored_logs), [*stopped]
    states = dict(before.topic_partitions)
    for topic_partition, state in after.topic_partitions:
        if states.get(topic_partition) is state or me not in state.replicas:
            continue
        stored = unassigned.pop(topic_partition, None)
        if stored is None or stored.incarnation != state.incarnation:
            stored = PartitionLog(incarnation=state.incarnation)
        replicas[topic_partition], some = apply_state(
            topic_partition, replicas.get(topic_partition), stored, state, context
        )
        effects += some
    return Applied(replicas, unassigned, tuple(effects))
