"""The cluster metadata, and the requests to and from the controller. Each line has the sender and
the receiver of a request, and its type:

    broker -> controller            RegisterBroker, BrokerHeartbeat
    leader -> controller            AlterPartition
    control port -> controller      ElectLeader
    client -> broker -> controller  CreateTopic, DeleteTopic, CreatePartitions, AlterConfigs,
                                    HoldElection, and the requests of the modules
                                    `reassignment` and `topic_defaults`
    controller -> brokers           UpdateMetadata: the whole image, after each change
    client -> broker                Metadata: the image that the broker has applied

Source: Kafka message schemas; KIP-497, KIP-631, KIP-903, KIP-966.
Simplified: as in `protocol/messages.py`. Brokers receive the metadata as a whole image, not as a
log of changes. There is one controller, which is never replaced.
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
from reference_impl.protocol.client_metrics import (
    AlterClientMetrics,
    AlteredClientMetrics,
    Subscriptions,
)
from reference_impl.protocol.client_quotas import AlteredQuotas, AlterQuotas, Quotas
from reference_impl.protocol.messages import NO_BROKER, UNKNOWN_BROKER_EPOCH, ErrorCode
from reference_impl.protocol.reassignment import (
    AlteredReassignment,
    AlterReassignment,
    ListedReassignments,
    ListReassignments,
)
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, LogConfig
from reference_impl.protocol.topic_defaults import (
    NO_DEFAULTS,
    AlterDefaults,
    AlteredDefaults,
    TopicDefaults,
)
from reference_impl.protocol.topic_settings import ListChange, TopicSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """The registration of a topic partition: the controller's state of this partition."""

    replicas: tuple[BrokerId, ...]  # in order of preference; includes `adding`
    isr: tuple[BrokerId, ...]  # in order of `replicas`
    leader: BrokerId  # NO_BROKER while the partition has no leader
    # Incremented by every change of the leader, also if the partition loses its leader.
    leader_epoch: LeaderEpoch
    # Incremented by every change, except if only the configuration changes.
    partition_epoch: PartitionEpoch
    min_insync_replicas: int = 1  # as configured: may be above the number of replicas
    elr: tuple[BrokerId, ...] = ()  # eligible to lead when the ISR is empty, KIP-966
    last_known_leader: BrokerId = NO_BROKER  # set only while there is no leader
    recovering: bool = False  # RECOVERING: unclean election, not yet confirmed by the leader
    unclean_leader_election: bool = False  # as configured
    log_config: LogConfig = DEFAULT_LOG_CONFIG
    configured: frozenset[str] = frozenset()  # the settings that the topic has itself
    incarnation: int = 0  # how often a topic of this name was deleted before
    adding: tuple[BrokerId, ...] = ()  # by the reassignment in progress
    removing: tuple[BrokerId, ...] = ()

    @property
    def is_reassigned(self) -> bool:
        return bool(self.adding or self.removing)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState:
    """The registration of a broker at the controller."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    fenced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataImage:
    """The cluster metadata in one version. A newer image has a larger version. Brokers and topic
    partitions are sorted.
    """

    version: int = 0
    brokers: tuple[BrokerState, ...] = ()
    topic_partitions: tuple[tuple[TopicPartition, PartitionState], ...] = ()
    deletions: tuple[tuple[str, int], ...] = ()  # how often topics of each name were deleted
    defaults: TopicDefaults = NO_DEFAULTS
    quotas: Quotas = ()
    client_metrics: Subscriptions = ()


NO_METADATA: Final = MetadataImage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """A request that returns the cluster metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMetadata:
    """The newest metadata image that the broker has applied. The controller may have a newer
    image.
    """

    image: MetadataImage


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic:
    topic: str
    topic_partitions: int = 1
    replication_factor: int = 3
    # If set, the client's replicas of each partition, which replace the two numbers above.
    assignments: tuple[tuple[BrokerId, ...], ...] = ()
    validate_only: bool = False
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    log_config: LogConfig = DEFAULT_LOG_CONFIG
    configured: frozenset[str] = frozenset()  # the settings that the topic has itself


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
    incarnation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic:
    topic: str
    # If set, only this incarnation of the topic is deleted.
    incarnation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTopic:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitions:
    topic: str
    topic_partitions: int
    # The replicas of each new partition; None: the controller chooses them.
    assignments: tuple[tuple[BrokerId, ...], ...] | None = None
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedPartitions:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigs(TopicSettings):
    """A request that changes settings of a topic. If a setting is None, its value does not change.
    A setting in `deleted` gets its default value.

    `lists` adds single items to a list setting, or removes them.
    """

    topic: str
    lists: tuple[ListChange, ...] = ()
    deleted: frozenset[str] = frozenset()
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredConfigs:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeader:
    """A request that makes `broker` the leader of the topic partition. If `broker` is None, the new
    leader is the next live ISR member after the present leader.
    """

    topic_partition: TopicPartition
    broker: BrokerId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectedLeader:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldElection:
    """A request for a preferred leader election, or for an unclean election."""

    topic_partition: TopicPartition
    # If true, any live replica becomes leader of a partition without a leader.
    is_unclean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldElection:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBroker:
    broker_id: BrokerId
    incarnation: int
    # The broker epoch stored by a clean shutdown; -1 after an unclean stop.
    previous_broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredBroker:
    """The response to a registration. It has the broker epoch of this incarnation (start) of the
    broker.

    The broker remains fenced until it has applied metadata that contains its registration.
    """

    error: ErrorCode = ErrorCode.NONE
    broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeat:
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    metadata_version: int
    wants_shut_down: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeated:
    """The controller's response to a broker's heartbeat. The response may fence the broker, or
    permit the broker to shut down.
    """

    error: ErrorCode = ErrorCode.NONE
    fenced: bool = True
    should_shut_down: bool = False  # the broker's partitions have other leaders


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadata:
    """A request that sends a metadata image to a broker. It has no response, because the broker's
    next heartbeat reports the version that the broker has applied.
    """

    image: MetadataImage


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartition:
    """A request in which a leader proposes a new ISR, with the broker epoch of each member."""

    topic_partition: TopicPartition
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    isr: tuple[tuple[BrokerId, BrokerEpoch], ...]
    recovering: bool = False  # the leader has not yet recovered from an unclean election


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredPartition:
    """The response to `AlterPartition`. It has the partition registration after the change, or the
    error that rejects the change.
    """

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    state: PartitionState | None = None


AdministrationRequest = (
    CreateTopic
    | DeleteTopic
    | CreatePartitions
    | AlterConfigs
    | AlterDefaults
    | AlterQuotas
    | AlterClientMetrics
    | HoldElection
    | AlterReassignment
    | ListReassignments
)
AdministrationResponse = (
    CreatedTopic
    | DeletedTopic
    | CreatedPartitions
    | AlteredConfigs
    | AlteredDefaults
    | AlteredQuotas
    | AlteredClientMetrics
    | HeldElection
    | AlteredReassignment
    | ListedReassignments
)
ControllerRequest = (
    Metadata
    | AdministrationRequest
    | ElectLeader
    | RegisterBroker
    | BrokerHeartbeat
    | UpdateMetadata
    | AlterPartition
)
ControllerResponse = (
    DescribedMetadata
    | AdministrationResponse
    | ElectedLeader
    | RegisteredBroker
    | BrokerHeartbeated
    | AlteredPartition
)
