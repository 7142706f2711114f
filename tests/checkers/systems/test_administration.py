"""An administrator's actions, such as an election, are sent as requests; refusals are errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.systems import administration
from checkers.systems.administration import (
    TOPIC_RESOURCE,
    Administration,
    Refused,
    elect_preferred,
    perform,
    prefer,
)
from checkers.systems.opening import named, opened
from checkers.systems.requests import call
from checkers.systems.system import Ability, Layout, Unable
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import encode

NONE = {"error_code": "NONE", "error_message": None}
REFUSED = {"error_code": "INVALID_REPLICA_ASSIGNMENT", "error_message": "no such broker"}


class Broker:
    """Answers each request with the fixed answer for its API, and lists the requests."""

    name = "broker"
    bootstrap_servers = "127.0.0.1:9092"
    abilities = frozenset({Ability.REASSIGN, Ability.ELECT})

    def __init__(self, answers: Mapping[Api, Any]) -> None:
        self.answers = answers
        self.requests: list[tuple[Api, Mapping[str, Any]]] = []

    def __call__(self, api: Api, version: int, body: Mapping[str, Any]) -> Any:
        encode(api, version, 1, body)  # every request can be written
        self.requests.append((api, body))
        return self.answers[api]


def election(*errors: str) -> dict[str, Any]:
    results = [{"partition_id": n, "error_code": one} for n, one in enumerate(errors)]
    return {**NONE, "replica_election_results": [{"topic": "t", "partition_result": results}]}


@pytest.mark.parametrize("kind", ["preferred", "unclean"])
def test_leaders_are_elected_where_they_can_be(kind: Any) -> None:
    broker = Broker(
        {
            Api.ELECT_LEADERS: election(
                "NONE", "ELECTION_NOT_NEEDED", "PREFERRED_LEADER_NOT_AVAILABLE"
            )
        }
    )
    Administration(broker).elect([("t", 0), ("t", 1)], kind)
    ((_, body),) = broker.requests
    assert body["election_type"] == ("preferred", "unclean").index(kind)
    assert body["topic_partitions"] == [
        {"topic": "t", "partitions": (0,)},
        {"topic": "t", "partitions": (1,)},
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {**election(), "error_code": "CLUSTER_AUTHORIZATION_FAILED"},
        election("NONE", "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_a_refused_election_is_an_error(answer: Any) -> None:
    with pytest.raises(Refused, match=r"CLUSTER_AUTHORIZATION_FAILED|UNKNOWN_TOPIC_OR_PARTITION"):
        Administration(Broker({Api.ELECT_LEADERS: answer})).elect()


def test_a_partition_is_moved_to_brokers_that_exist() -> None:
    for answer, accepted in ((NONE, True), (REFUSED, False)):
        responses = [{"name": "t", "partitions": [{"partition_index": 0, **answer}]}]
        broker = Broker({Api.ALTER_PARTITION_REASSIGNMENTS: {**NONE, "responses": responses}})
        if accepted:
            Administration(broker).reassign({("t", 0): (2, 3)})
        else:
            with pytest.raises(Refused, match="INVALID_REPLICA_ASSIGNMENT: no such broker"):
                Administration(broker).reassign({("t", 0): (2, 7)})


def metadata(*replicas: list[int]) -> dict[str, Any]:
    partitions = [{"partition_index": n, "replica_nodes": one} for n, one in enumerate(replicas)]
    return {"topics": [{"name": "t", "partitions": partitions}]}


@pytest.fixture
def with_broker(monkeypatch: pytest.MonkeyPatch) -> Callable[[Broker], Any]:
    def installed(broker: Broker) -> Any:
        monkeypatch.setattr(
            administration, "call", lambda _to, api, version, body: broker(api, version, body)
        )
        return broker

    return installed


def test_a_preferred_broker_is_the_first_replica_of_every_partition(
    with_broker: Callable[[Broker], Any],
) -> None:
    broker = with_broker(
        Broker(
            {
                Api.METADATA: metadata([1, 2, 3], [3, 1], [1, 2], [2, 1]),
                Api.ALTER_PARTITION_REASSIGNMENTS: {**NONE, "responses": []},
            }
        )
    )
    prefer(broker, 3)
    moved = {
        each["partition_index"]: each["replicas"]
        for topic in broker.requests[-1][1]["topics"]
        for each in topic["partitions"]
    }
    assert moved == {0: [3, 1, 2], 2: [3, 1], 3: [3, 2]}


def test_nothing_is_requested_where_the_broker_is_preferred(
    with_broker: Callable[[Broker], Any],
) -> None:
    broker = with_broker(Broker({Api.METADATA: metadata([3, 1])}))
    prefer(broker, 3)
    assert [api for api, _ in broker.requests] == [Api.METADATA]


def test_an_action_is_a_request_only_if_the_system_can(
    with_broker: Callable[[Broker], Any], tmp_path: Path
) -> None:
    broker = with_broker(Broker({Api.ELECT_LEADERS: election()}))
    perform(broker, Ability.ELECT, 1)
    assert [api for api, _ in broker.requests] == [Api.ELECT_LEADERS]
    elect_preferred(broker, 2)
    assert broker.requests[0] == broker.requests[1]
    with opened(named("served"), tmp_path, Layout(brokers=1)) as served:
        with pytest.raises(Unable, match="served lacks the ability elect"):
            perform(served, Ability.ELECT, 1)
        perform(served, Ability.KILL, 1)


def test_the_reference_broker_is_configured_and_deletes_records(tmp_path: Path) -> None:
    with opened(named("served"), tmp_path, Layout(brokers=1)) as served:
        clients: dict[str, str | int | float | bool] = {
            "bootstrap.servers": served.bootstrap_servers
        }
        admin = AdminClient(clients)
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
        port = int(served.bootstrap_servers.rpartition(":")[2])
        administration = Administration(partial(call, ("127.0.0.1", port)))
        assert administration.replicas() == {("t", 0): (1,)}
        administration.configure(TOPIC_RESOURCE, "t", "retention.ms", "1000")
        administration.delete_records(("t", 0), 0)
        with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
            administration.delete_records(("t", 0), 5)
        with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
            administration.configure(TOPIC_RESOURCE, "absent", "retention.ms", "1000")
