"""The requests and responses about one topic partition. They have Kafka's terms, and do not depend
on the versions of Kafka's wire protocol.

Each request has one response, such as `Fetched` for `Fetch`. The wire adapter splits a request with
many topic partitions into requests for one partition, and joins the responses. Records are sent as
whole record batches of version 2. An absent offset, id or epoch is -1. Brokers have small ids. The
controller has the id -1, and clients have ids from `FIRST_CLIENT` on.

Source: Kafka message schemas; KIP-98, KIP-101, KIP-320, KIP-595, KIP-903.
Simplified: the messages have no topic ids, fetch sessions, throttling, racks, log directories or
authentication.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NewType

from model.vocabulary import (
    NO_PRODUCER_ID,
    UNKNOWN_LEADER_EPOCH,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.protocol.record_facts import RecordFacts

NodeId = NewType("NodeId", int)  # a broker, the controller or a client
CONTROLLER: Final = NodeId(-1)
FIRST_CLIENT: Final = NodeId(1_000_000)

UNKNOWN_OFFSET: Final = Offset(-1)
NO_BROKER: Final = BrokerId(-1)
CONSUMER: Final = BrokerId(-1)  # the replica id of a request that comes from a consumer
DEBUGGING_CONSUMER: Final = BrokerId(-2)  # a consumer that may also use followers
UNKNOWN_BROKER_EPOCH: Final = BrokerEpoch(-1)
NO_PRODUCER_EPOCH: Final = ProducerEpoch(-1)

NO_TIMESTAMP: Final = -1

ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1

LATEST_TIMESTAMP: Final = -1  # ListOffsets: the high watermark
EARLIEST_TIMESTAMP: Final = -2  # ListOffsets: the log start
MAX_TIMESTAMP: Final = -3  # ListOffsets: the record with the largest timestamp
EARLIEST_LOCAL_TIMESTAMP: Final = -4  # ListOffsets: the log start, without tiered storage
LATEST_TIERED_TIMESTAMP: Final = -5  # ListOffsets: none, without tiered storage
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6  # ListOffsets: none, without tiered storage


class ErrorCode(IntEnum):
    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INVALID_UPDATE_VERSION = 95
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    TRANSACTION_ABORTABLE = 120
    INVALID_REGULAR_EXPRESSION = 128


RETRIABLE: Final = frozenset({
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """A request that appends record batches. With acks=-1, the response waits until all in-sync
    replicas have the batches. With acks=1, it waits only for the leader. With acks=0, there is no
    response.
    """

    topic_partition: TopicPartition
    batches: bytes
    acks: int = ACKS_ALL
    timeout_ms: int = 30_000  # how long acks=all may wait for replication
    transactional_id: str | None = None  # of a transactional batch
    by_coordinator: bool = False  # appended by a coordinator: no sequence numbers
    adds_partition: bool = False  # KIP-890: the leader adds the partition to the transaction
    knows_abortable: bool = False  # KIP-890: the producer knows the error TRANSACTION_ABORTABLE
    # The facts that the receiver of a large batch found; with None, the leader scans the batch.
    scanned: RecordFacts | ErrorCode | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """The response to `Produce`. It has the offset of the first appended record.

    After some errors, for example a timeout, the records are in the log nevertheless.
    """

    error: ErrorCode = ErrorCode.NONE
    base_offset: Offset = UNKNOWN_OFFSET
    log_start_offset: Offset = UNKNOWN_OFFSET
    append_time_ms: int = NO_TIMESTAMP  # with LogAppendTime; of a duplicate, its newest timestamp
    record_errors: tuple[int, ...] = ()  # positions of the records that were refused, KIP-467


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """A request that reads records. The sender is a consumer, or the follower `replica_id`."""

    topic_partition: TopicPartition
    fetch_offset: Offset
    replica_id: BrokerId = CONSUMER
    replica_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # the follower's broker epoch, KIP-903
    log_start_offset: Offset = UNKNOWN_OFFSET  # of the follower's log
    current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    last_fetched_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH  # of the follower's last record
    max_bytes: int = 1_048_576  # the response may exceed it to have one whole batch
    max_wait_ms: int = 0  # 0: the response is immediate, also when empty
    read_committed: bool = False  # only records below the last stable offset
    any_replica: bool = False  # a consumer that may read from a follower, KIP-392
    cuts_last: bool = False  # max_bytes may cut the last batch, but not the first one


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEndOffset:
    """The largest leader epoch that is not above the requested epoch, and the end offset of this
    leader epoch.
    """

    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    end_offset: Offset = UNKNOWN_OFFSET


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTransaction:
    """An aborted transaction that overlaps a fetched range. A reader must skip the records of the
    producer `producer_id` from `first_offset` to this producer's next abort marker.
    """

    producer_id: ProducerId
    first_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The response to `Fetch`. Its first record batch may begin below the fetch offset. If the
    request has `cuts_last`, the last batch may be incomplete.
    """

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    high_watermark: Offset = UNKNOWN_OFFSET
    last_stable_offset: Offset = UNKNOWN_OFFSET  # only for consumers
    log_start_offset: Offset = UNKNOWN_OFFSET
    # Kafka's followers request this offset by ListOffsets after OFFSET_OUT_OF_RANGE.
    log_end_offset: Offset = UNKNOWN_OFFSET  # only for followers
    diverging_epoch: EpochEndOffset | None = None  # the follower has to truncate first
    batches: bytes = b""
    aborted: tuple[AbortedTransaction, ...] = ()  # only at read_committed


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsets:
    """A request for one offset of a topic partition. `timestamp` selects the offset: the latest,
    the earliest, or the first whose record has this timestamp (in ms) or a later timestamp.
    """

    topic_partition: TopicPartition
    timestamp: int = LATEST_TIMESTAMP
    read_committed: bool = False  # the latest offset is then the last stable offset
    replica_id: BrokerId = CONSUMER  # for other senders, the latest offset is the log end
    current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOffsets:
    """The response to `ListOffsets`. If there is no error and the offset is -1, no record has the
    requested timestamp or a later timestamp.
    """

    error: ErrorCode = ErrorCode.NONE
    offset: Offset = UNKNOWN_OFFSET
    timestamp: int = -1
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpoch:
    """A request for the end offset of a leader epoch. Clients use this request to detect that a log
    was truncated.
    """

    topic_partition: TopicPartition
    leader_epoch: LeaderEpoch
    current_leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetOfLeaderEpoch:
    """The response to `OffsetForLeaderEpoch`. If the requested epoch is unknown, the epoch and the
    offset in `end` are -1.
    """

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    end: EpochEndOffset = EpochEndOffset()


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerId:
    """A request for a producer id. If it has no transactional id, the response has a new producer
    id each time.
    """

    transactional_id: str | None = None
    timeout_ms: int = 60_000  # how long a transaction may be open
    # These two are set by a producer that continues after an error (KIP-360).
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class InitializedProducerId:
    error: ErrorCode = ErrorCode.NONE
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


PartitionRequest = Produce | Fetch | ListOffsets | OffsetForLeaderEpoch | InitProducerId
PartitionResponse = Produced | Fetched | ListedOffsets | OffsetOfLeaderEpoch | InitializedProducerId
