"""Every request of Kafka's broker listener is served, or has a reason why it is not."""

from __future__ import annotations

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.requests.answers import ANSWERS
from tools.unserved import UNSERVED

OF_CONTROLLERS = {
    Api.VOTE,
    Api.BEGIN_QUORUM_EPOCH,
    Api.END_QUORUM_EPOCH,
    Api.ALTER_PARTITION,
    Api.ENVELOPE,
    Api.FETCH_SNAPSHOT,
    Api.BROKER_REGISTRATION,
    Api.BROKER_HEARTBEAT,
    Api.ALLOCATE_PRODUCER_IDS,
    Api.CONTROLLER_REGISTRATION,
    Api.ASSIGN_REPLICAS_TO_DIRS,
    Api.UPDATE_RAFT_VOTER,
}


def test_a_request_is_served_or_has_a_reason() -> None:
    assert not VERSIONS.keys() & UNSERVED.keys()
    assert VERSIONS.keys() | UNSERVED.keys() == set(Api) - OF_CONTROLLERS
    assert len(VERSIONS) + len(UNSERVED) == 77


def test_each_served_request_has_a_handler() -> None:
    assert ANSWERS.keys() | {Api.PRODUCE} == VERSIONS.keys()
