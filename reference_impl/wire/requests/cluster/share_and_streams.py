"""Handles the requests of share groups and streams groups, which are switched off.

The broker responds like a Kafka broker whose features share.version and streams.version have the
level 0. In a new cluster of Kafka 4.3, these features are switched on. ApiVersions lists the
requests, but they get UNSUPPORTED_VERSION. Requests to a share coordinator get NOT_COORDINATOR.

Source: KIP-932, KIP-1071; KafkaApis of Apache Kafka.
"""

from __future__ import annotations

from typing import Any, Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.adapter import Call, span
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.requests.broker.authorized_operations import NO_OPERATIONS
from reference_impl.wire.requests.broker.served_broker import ServedBroker

UNSUPPORTED: Final = ErrorCode.UNSUPPORTED_VERSION
WHY: Final = "The version of API is not supported."
NO_TIME: Final = span(0)
_STATE_RESULTS: Final = {
    Api.INITIALIZE_SHARE_GROUP_STATE: "InitializeStateResult",
    Api.READ_SHARE_GROUP_STATE: "ReadStateResult",
    Api.WRITE_SHARE_GROUP_STATE: "WriteStateResult",
    Api.DELETE_SHARE_GROUP_STATE: "DeleteStateResult",
    Api.READ_SHARE_GROUP_STATE_SUMMARY: "ReadStateSummaryResult",
}


async def heartbeat(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(
        error_code=UNSUPPORTED,
        error_message=None,
        member_id=None if call.api is Api.SHARE_GROUP_HEARTBEAT else "",
        member_epoch=0,
        heartbeat_interval=NO_TIME,
        acceptable_recovery_lag=0,
        task_offset_interval=NO_TIME,
        status=(),
        active_tasks=None,
        standby_tasks=None,
        warmup_tasks=None,
        endpoint_information_epoch=0,
        partitions_by_user_endpoint=None,
        assignment=None,
    )


async def describe(_broker: ServedBroker, call: Call) -> bytes:
    def described(group: str) -> Any:
        return call.make(
            "DescribedGroup",
            error_code=UNSUPPORTED,
            error_message=None,
            group_id=group,
            group_state="",
            group_epoch=0,
            assignment_epoch=0,
            assignor_name="",
            topology=None,
            members=(),
            authorized_operations=NO_OPERATIONS,
        )

    return call.respond(groups=tuple(map(described, call.body.group_ids)))


async def fetch_or_acknowledge(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(
        error_code=UNSUPPORTED,
        error_message=None,
        acquisition_lock_timeout=NO_TIME,
        responses=(),
        node_endpoints=(),
    )


async def describe_offsets(_broker: ServedBroker, call: Call) -> bytes:
    def described(group: Any) -> Any:
        return call.make(
            "DescribeShareGroupOffsetsResponseGroup",
            group_id=group.group_id,
            topics=(),
            error_code=UNSUPPORTED,
            error_message=None,
        )

    return call.respond(groups=tuple(map(described, call.body.groups)))


async def change_offsets(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(error_code=UNSUPPORTED, error_message=WHY, responses=())


async def state(_broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to a request that a partition leader sends to a share coordinator. Each
    partition in the response has the error NOT_COORDINATOR.
    """

    def result(partition: Any) -> Any:
        return call.make(
            "PartitionResult",
            partition=partition.partition,
            error_code=ErrorCode.NOT_COORDINATOR,
            error_message="This is not the correct coordinator.",
            state_epoch=0,
            leader_epoch=0,
            start_offset=0,
            delivery_complete_count=0,
            state_batches=(),
        )

    return call.respond(
        results=tuple(
            call.make(
                _STATE_RESULTS[call.api],
                topic_id=topic.topic_id,
                partitions=tuple(map(result, topic.partitions)),
            )
            for topic in call.body.topics
        )
    )
