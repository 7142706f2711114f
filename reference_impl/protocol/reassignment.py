"""The requests that reassign the replicas of topic partitions, and list the reassignments. Each
line has the sender, the receiver and the requests:

    client -> broker -> controller  AlterReassignment, ListReassignments
    control port -> controller      AlterReassignment

Source: KIP-455, KIP-860; Kafka message schemas.
Simplified: a request alters one topic partition.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.messages import ErrorCode

Replicas = tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReassignment:
    """A request that moves a topic partition to the brokers in `replicas`. If `replicas` is None,
    the request cancels the reassignment in progress.
    """

    topic_partition: TopicPartition
    # The preferred leader first; None cancels the reassignment in progress.
    replicas: Replicas | None
    allows_factor_change: bool = True  # KIP-860


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredReassignment:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReassignments:
    """A request that returns reassignments in progress. If `topic_partitions` is None, it returns
    the reassignments of all partitions.
    """

    topic_partitions: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A reassignment in progress. `replicas` includes the replicas in `adding` and in
    `removing`.
    """

    topic_partition: TopicPartition
    replicas: Replicas
    adding: Replicas
    removing: Replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedReassignments:
    reassignments: tuple[Reassignment, ...] = ()
