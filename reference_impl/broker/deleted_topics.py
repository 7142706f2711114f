"""Deletes a broker's replicas of deleted topics, and replicas that a reassignment moved to other
brokers.

A topic may be deleted and created again while a broker is down. Each log therefore stores the
incarnation of its topic: the number of earlier topics of this name that were deleted. A log of an
earlier incarnation is deleted, too.

Source: KIP-455, KIP-516; ReplicaManager.applyDelta, LogManager.isStrayReplica of Apache Kafka.
Simplified: the log of a deleted partition is removed at once. Kafka renames its directory, and
removes the directory after file.delete.delay.ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.step import Effects, Readable
from reference_impl.partition.leader import Leader, resign
from reference_impl.partition.roles import Replica
from reference_impl.protocol.controller import MetadataImage


class Remaining(NamedTuple):
    """The replicas and logs that a broker keeps when it applies a new metadata image. The image
    assigns their partitions to the broker.

    `unassigned` has the logs that were on the broker's disk at its start, and that have no replica
    yet.

    `stopped` has the effects of the removed replicas: error responses to the requests that waited
    at them, and wake-ups (`Readable`) of consumers.
    """

    replicas: Mapping[TopicPartition, Replica]
    unassigned: Mapping[TopicPartition, PartitionLog]
    stopped: Effects


def remaining(
    replicas: Mapping[TopicPartition, Replica],
    unassigned: Mapping[TopicPartition, PartitionLog],
    image: MetadataImage,
    broker_id: BrokerId,
) -> Remaining:
    existing = {
        place: state.incarnation
        for place, state in image.topic_partitions
        if broker_id in state.replicas
    }
    gone = [
        replica
        for place, replica in replicas.items()
        if existing.get(place) != replica.state.incarnation
    ]
    kept = dict(replicas)
    for replica in gone:
        del kept[replica.topic_partition]
    stopped = (
        resign(replica) if isinstance(replica, Leader) else (Readable(replica.topic_partition),)
        for replica in gone
    )
    return Remaining(
        kept,
        {place: log for place, log in unassigned.items() if place in existing},
        tuple(effect for effects in stopped for effect in effects),
    )


def deleted(before: MetadataImage, after: MetadataImage) -> frozenset[TopicPartition]:
    """Returns the topic partitions that were deleted between two metadata images.

    A deleted partition is in both images if its topic was created again.
    """
    existing = _incarnations(after)
    return frozenset(
        place
        for place, state in before.topic_partitions
        if existing.get(place) != state.incarnation
    )


def _incarnations(image: MetadataImage) -> dict[TopicPartition, int]:
    return {place: state.incarnation for place, state in image.topic_partitions}
