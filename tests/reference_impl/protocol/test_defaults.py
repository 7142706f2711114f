"""The default value of a message's field means that nothing is stated. Each exception to this rule
has a reason.

An option is off, a number is the sentinel -1, a text is empty, and there is no error. Requests of
an old version, and responses with an error, leave fields at their defaults, so a wrong default is a
wrong answer.
"""

from __future__ import annotations

import dataclasses
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from reference_impl import protocol
from reference_impl.protocol.messages import ErrorCode

SECOND = 1_000
SETTINGS = {"topic_config", "topic_defaults"}  # other tests compare these with Kafka's
# Each with the default of Kafka that it is, or with the reason for another value.
EXCEPTIONS: dict[str, tuple[object, str]] = {
    "AlterReassignment.allows_factor_change": (True, "AllowReplicationFactorChange"),
    "BrokerHeartbeated.fenced": (True, "BrokerHeartbeatResponse.IsFenced"),
    "CommitOffsets.knows_member_epochs": (True, "OffsetCommit since v9"),
    "ConsumerGroupDescribed.assignment_epoch": (0, "the groups of an error have no epoch"),
    "ConsumerGroupDescribed.group_epoch": (0, "the groups of an error have no epoch"),
    "ConsumerGroupHeartbeat.names_itself": (True, "ConsumerGroupHeartbeat since v1"),
    "ConsumerGroupHeartbeated.heartbeat_ms": (0, "HeartbeatIntervalMs"),
    "ConsumerGroupHeartbeated.member_epoch": (0, "MemberEpoch"),
    "CreateTopic.min_insync_replicas": (1, "min.insync.replicas"),
    "CreateTopic.replication_factor": (3, "the simulation's; Kafka: default.replication.factor=1"),
    "CreateTopic.topic_partitions": (1, "num.partitions"),
    "CreatedTopic.incarnation": (0, "no topic of this name was deleted"),
    "DeleteRecords.timeout_ms": (30 * SECOND, "request.timeout.ms"),
    "Fetch.max_bytes": (1_048_576, "max.partition.fetch.bytes"),
    "Fetch.max_wait_ms": (0, "an answer at once"),
    "InitProducerId.timeout_ms": (60 * SECOND, "transaction.timeout.ms"),
    "JoinGroup.knows_skipping": (True, "JoinGroup since v9"),
    "JoinGroup.needs_id_first": (True, "JoinGroup since v4"),
    "JoinGroup.protocol_type": ("consumer", "the protocol of consumers"),
    "JoinGroup.rebalance_timeout_ms": (60 * SECOND, "rebalance.timeout.ms of Connect"),
    "JoinGroup.session_timeout_ms": (10 * SECOND, "session.timeout.ms of consumers before 3.0"),
    "MetadataImage.version": (0, "before the first change"),
    "PartitionState.incarnation": (0, "no topic of this name was deleted"),
    "PartitionState.min_insync_replicas": (1, "min.insync.replicas"),
    "Produce.timeout_ms": (30 * SECOND, "request.timeout.ms"),
    "TransactionDescription.timeout_ms": (0, "DescribeTransactionsResponse"),
}


def messages() -> Iterator[type[Any]]:
    """Yields the dataclasses of all modules with messages."""
    for found in pkgutil.iter_modules(protocol.__path__):
        module = import_module(f"{protocol.__name__}.{found.name}")
        for one in vars(module).values():
            is_message = isinstance(one, type) and dataclasses.is_dataclass(one)
            if is_message and one.__module__ == module.__name__ and found.name not in SETTINGS:
                yield one


def test_a_default_is_off_or_unknown_or_has_a_reason() -> None:
    defaults = {
        f"{message.__name__}.{field.name}": field.default
        for message in messages()
        for field in dataclasses.fields(message)
    }
    nothing: dict[Any, object] = {bool: False, int: -1, str: "", ErrorCode: ErrorCode.NONE}
    assert {
        name: value
        for name, value in defaults.items()
        if type(value) in nothing and value != nothing[type(value)]
    } == {name: value for name, (value, _) in EXCEPTIONS.items()}
