"""The requests of Kafka's broker listener that the reference broker does not serve, and why.

ApiVersions does not list them, and a connection that sends one is closed, as by a Kafka that does
not have the request.

Source: Kafka message schemas, 4.3: the requests whose listeners contain `broker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_impl.wire.apis import Api

_TOKENS: Final = "There are no delegation tokens."
_TELEMETRY: Final = "Kafka does not list it either without a plug-in that receives metrics."
_SHARE: Final = "Share groups (KIP-932) are switched off."
_STREAMS: Final = "Streams groups (KIP-1071) are switched off."
_VOTERS: Final = "There is one controller, and no quorum to change."

UNSERVED: Final[Mapping[Api, str]] = {
    Api.CREATE_DELEGATION_TOKEN: _TOKENS,
    Api.ALTER_REPLICA_LOG_DIRS: "A broker has one log directory.",
    Api.ALTER_CLIENT_QUOTAS: "There are no quotas.",
    Api.UPDATE_FEATURES: "The features of the cluster never change.",
    Api.UNREGISTER_BROKER: "The brokers of the cluster never change.",
    Api.ADD_RAFT_VOTER: _VOTERS,
    Api.REMOVE_RAFT_VOTER: _VOTERS,
    Api.GET_TELEMETRY_SUBSCRIPTIONS: _TELEMETRY,
    Api.PUSH_TELEMETRY: _TELEMETRY,
    Api.SHARE_GROUP_HEARTBEAT: _SHARE,
    Api.SHARE_GROUP_DESCRIBE: _SHARE,
    Api.SHARE_FETCH: _SHARE,
    Api.SHARE_ACKNOWLEDGE: _SHARE,
    Api.INITIALIZE_SHARE_GROUP_STATE: _SHARE,
    Api.READ_SHARE_GROUP_STATE: _SHARE,
    Api.WRITE_SHARE_GROUP_STATE: _SHARE,
    Api.DELETE_SHARE_GROUP_STATE: _SHARE,
    Api.READ_SHARE_GROUP_STATE_SUMMARY: _SHARE,
    Api.DESCRIBE_SHARE_GROUP_OFFSETS: _SHARE,
    Api.ALTER_SHARE_GROUP_OFFSETS: _SHARE,
    Api.DELETE_SHARE_GROUP_OFFSETS: _SHARE,
    Api.STREAMS_GROUP_HEARTBEAT: _STREAMS,
    Api.STREAMS_GROUP_DESCRIBE: _STREAMS,
}
