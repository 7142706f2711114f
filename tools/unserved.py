"""The requests of Kafka's broker listener that the reference broker does not serve, with the
reasons.

ApiVersions does not list these requests. If a client sends such a request, the broker closes the
connection, as Kafka does for an unknown request.

Source: Kafka message schemas, 4.3: the requests whose listeners contain `broker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_impl.wire.messages.apis import Api

_TELEMETRY: Final = "Kafka does not list it either without a plug-in that receives metrics."
_VOTERS: Final = "There is one controller, and no quorum to change."

UNSERVED: Final[Mapping[Api, str]] = {
    Api.UPDATE_FEATURES: "The features of the cluster never change.",
    Api.UNREGISTER_BROKER: "The brokers of the cluster never change.",
    Api.ADD_RAFT_VOTER: _VOTERS,
    Api.REMOVE_RAFT_VOTER: _VOTERS,
    Api.GET_TELEMETRY_SUBSCRIPTIONS: _TELEMETRY,
    Api.PUSH_TELEMETRY: _TELEMETRY,
}
