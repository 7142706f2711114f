"""Every request that the broker serves can get an injected error, in every version."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.wire.faults.error_answers import refusal, response_in, with_error
from reference_impl.wire.faults.request_log import errors_in
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import decode, encode, has_schema, read_request
from reference_impl.wire.messages.versions import VERSIONS

TOPIC = {
    "name": "a", "topic": "a", "partition_indexes": [3], "count": 1,
    "partitions": [{"partition": 3, "partition_index": 3}],
}  # fmt: skip
BODY: dict[str, Any] = {
    "topics": [TOPIC],
    "topic_data": [{"name": "a", "partition_data": [{"index": 3, "records": b""}]}],
    "coordinator_keys": ["g"],
    "groups": [{"group_id": "g", "topics": [TOPIC]}],
    "group_ids": ["g"],
    "resources": [{"resource_type": 2, "resource_name": "a"}],
}
OF_TRANSACTIONS: dict[str, Any] = {
    "v3_and_below_topics": [{"name": "a", "partitions": [3]}],
    "transactions": [{"transactional_id": "x", "topics": [{"name": "a", "partitions": [3]}]}],
}
OTHER: dict[str, Any] = {"hmac": b""}
NAMING_PARTS = frozenset({
    Api.PRODUCE, Api.FETCH, Api.LIST_OFFSETS, Api.METADATA, Api.OFFSET_COMMIT, Api.OFFSET_FETCH,
    Api.FIND_COORDINATOR, Api.CREATE_TOPICS, Api.DELETE_RECORDS, Api.OFFSET_FOR_LEADER_EPOCH,
    Api.TXN_OFFSET_COMMIT, Api.DESCRIBE_CONFIGS, Api.CREATE_PARTITIONS,
    Api.INCREMENTAL_ALTER_CONFIGS, Api.CONSUMER_GROUP_DESCRIBE,
})  # fmt: skip
BODIES = dict.fromkeys(NAMING_PARTS, BODY) | {Api.ADD_PARTITIONS_TO_TXN: OF_TRANSACTIONS}


def called(api: Api, version: int) -> Call:
    frame = encode(api, version, 7, BODIES.get(api, OTHER))[4:]
    return Call(api, version, 7, "test", read_request(api, version, frame))


@pytest.mark.parametrize("api", VERSIONS)
def test_every_request_can_be_refused_in_every_version(api: Api) -> None:
    for version in range(VERSIONS[api].first, VERSIONS[api].last + 1):
        if not has_schema(api, version):
            continue
        call = called(api, version)
        frame = refusal(call, "NOT_COORDINATOR")
        found = errors_in(response_in(call, frame))
        decode(api, version, frame[4:])  # as a client reads it
        names_parts = any(isinstance(part, tuple) and part for part in vars_of(call.body))
        has_own = hasattr(response_in(call, frame), "error_code")
        assert found == (("NOT_COORDINATOR",) if names_parts or has_own else ()), (api, version)
        again = with_error(call, frame, "REQUEST_TIMED_OUT")
        assert errors_in(response_in(call, again)) in ((), ("REQUEST_TIMED_OUT",))


def vars_of(body: Any) -> list[Any]:
    return [getattr(body, name) for name in body.__dataclass_fields__]


def test_a_refused_produce_names_its_partition_and_no_offset() -> None:
    call = called(Api.PRODUCE, 9)
    (topic,) = response_in(call, refusal(call, "NOT_ENOUGH_REPLICAS")).responses
    (partition,) = topic.partition_responses
    assert (topic.name, partition.index, partition.base_offset) == ("a", 3, -1)
    assert partition.error_code.name == "not_enough_replicas"


@pytest.mark.parametrize(
    ("api", "version", "error", "outside"),
    [
        (Api.FETCH, 12, "NOT_LEADER_OR_FOLLOWER", False),
        (Api.FETCH, 12, "FETCH_SESSION_ID_NOT_FOUND", True),
        (Api.OFFSET_FETCH, 7, "NOT_COORDINATOR", True),
        (Api.OFFSET_FETCH, 7, "UNSTABLE_OFFSET_COMMIT", False),
    ],
)
def test_errors_of_sessions_and_groups_stand_at_the_response(
    api: Api, version: int, error: str, outside: bool
) -> None:
    call = called(api, version)
    response = response_in(call, refusal(call, error))
    assert response.error_code.name == (error.lower() if outside else "none")
    assert errors_in(response) == (error,)


def test_an_error_of_a_group_stands_at_the_group() -> None:
    call = called(Api.OFFSET_FETCH, 8)
    (group,) = response_in(call, refusal(call, "NOT_COORDINATOR")).groups
    assert (group.group_id, group.error_code.name, group.topics) == ("g", "not_coordinator", ())
