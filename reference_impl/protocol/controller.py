"""What the controller knows of the cluster, and what brokers and clients say to it.

    broker -> controller            RegisterBroker, BrokerHeartbeat
    leader -> controller            AlterPartition
    client -> broker -> controller  CreateTopic, CreatePartitions, AlterConfigs
    controller -> brokers           UpdateMetadata: the whole image, whenever something changed
    client -> broker                Metadata: the image that the broker has applied

Source: the message schemas of Apache Kafka; KIP-497, KIP-631, KIP-903, KIP-966.
Simplified: as in `messages`; brokers get the metadata as a whole image, not as a log of changes;
there is one controller, and it is never replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    PartitionEpoch,
    TopicPartition,
)
from reference_impl.protocol.messages import NO_BROKER, UNKNOWN_BROKER_EPOCH, ErrorCode
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, CleanupPolicy, LogConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """What the controller decided about a topic partition.

    Every change but that of a configuration adds one to the partition epoch, every choice of a
    leader (also of none) one to the leader epoch.
    """

    replicas: tuple[BrokerId, ...]  # in order of preference
    isr: tuple[BrokerId, ...]  # in order of `replicas`
    leader: BrokerId  # NO_BROKER while nobody may lead
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    min_insync_replicas: int = 1  # as configured: may be above the number of replicas
    elr: tuple[BrokerId, ...] = ()  # eligible to lead when the ISR is empty, KIP-966
    last_known_leader: BrokerId = NO_BROKER  # told only while nobody leads
    recovering: bool = False  # an unclean election made the leader, and it has not answered for it
    unclean_leader_election: bool = False  # as configured
    log_config: LogConfig = DEFAULT_LOG_CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState:
    """What the controller knows of a broker."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    fenced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataImage:
    """The cluster as of one version; versions are a total order. Both tables are sorted."""

    version: int = 0
    brokers: tuple[BrokerState, ...] = ()
    topic_partitions: tuple[tuple[TopicPartition, PartitionState], ...] = ()


NO_METADATA: Final = MetadataImage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Describe the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMetadata:
    """The image that this broker has applied; it may be stale."""

    image: MetadataImage


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    """Create a topic; a broker passes it on to the controller."""

    topic: str
    topic_partitions: int = 1
    replication_factor: int = 3
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    log_config: LogConfig = DEFAULT_LOG_CONFIG


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic:
    """The controller has created it; brokers learn of it a little later."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitions:
    """Let the topic grow to so many partitions; a broker passes it on to the controller."""

    topic: str
    topic_partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedPartitions:
    """The controller has created them; brokers learn of them a little later."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigs:
    """Change what is told of the topic's configuration; None leaves a setting as it is."""

    topic: str
    min_insync_replicas: int | None = None
    unclean_leader_election: bool | None = None
    cleanup_policy: CleanupPolicy | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    segment_bytes: int | None = None
    delete_retention_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredConfigs:
    """The controller has changed it; brokers learn of it a little later."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBroker:
    """A broker has started; the incarnation tells this start from every other one.

    `previous_broker_epoch` is what the last life left when it shut down cleanly.
    """

    broker_id: BrokerId
    incarnation: int
    previous_broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredBroker:
    """The broker epoch of this life; the broker stays fenced until it has caught up with the
    metadata.
    """

    error: ErrorCode = ErrorCode.NONE
    broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeat:
    """The broker lives, and has applied the metadata up to a version."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    metadata_version: int
    wants_shut_down: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeated:
    """The controller has heard it."""

    error: ErrorCode = ErrorCode.NONE
    fenced: bool = True
    should_shut_down: bool = False  # others lead what the broker led


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadata:
    """The controller's newest image; nobody answers it, a heartbeat tells what was applied."""

    image: MetadataImage


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartition:
    """A leader proposes another ISR, and the broker epoch under which it knows each member."""

    topic_partition: TopicPartition
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[tuple[BrokerId, BrokerEpoch], ...]
    recovering: bool = False  # the leader has not yet recovered from an unclean election


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredPartition:
    """The state as it is now, or why the proposal was refused."""

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    state: PartitionState | None = None


AdministrationRequest = CreateTopic | CreatePartitions | AlterConfigs
AdministrationResponse = CreatedTopic | CreatedPartitions | AlteredConfigs
ControllerRequest = (
    Metadata
    | AdministrationRequest
    | RegisterBroker
    | BrokerHeartbeat
    | UpdateMetadata
    | AlterPartition
)
ControllerResponse = (
    DescribedMetadata
    | AdministrationResponse
    | RegisteredBroker
    | BrokerHeartbeated
    | AlteredPartition
)
