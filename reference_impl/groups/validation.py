"""The checks of group requests that every broker makes, even if it is not the group's coordinator.

Source: GroupCoordinatorService of Apache Kafka (joinGroup, syncGroup, heartbeat, leaveGroup,
commitTransactionalOffsets, consumerGroupHeartbeat).
"""

from __future__ import annotations

from reference_impl.groups.heartbeat import malformed_error
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.consumer_groups import ConsumerGroupHeartbeat
from reference_impl.protocol.group_administration import DeleteGroup, DescribeGroup
from reference_impl.protocol.groups import CommitOffsets, FetchOffsets, GroupRequest, JoinGroup
from reference_impl.protocol.messages import ErrorCode


def request_error(request: GroupRequest, broker_settings: BrokerSettings) -> ErrorCode:
    """Returns the error that rejects a malformed request, or NONE."""
    match request:
        case ConsumerGroupHeartbeat():
            return malformed_error(request)
        # Offsets may be committed with an empty group id, but not in a transaction.
        case FetchOffsets() | CommitOffsets(transactional_id=None):
            return ErrorCode.NONE
        case DescribeGroup() | DeleteGroup():  # the empty group id, for backwards compatibility
            return ErrorCode.NONE
        case _ if not request.group:
            return ErrorCode.INVALID_GROUP_ID
        case JoinGroup(session_timeout_ms=ms):
            is_within = (
                broker_settings.group_min_session_ms <= ms <= broker_settings.group_max_session_ms
            )
            return ErrorCode.NONE if is_within else ErrorCode.INVALID_SESSION_TIMEOUT
        case _:
            return ErrorCode.NONE
