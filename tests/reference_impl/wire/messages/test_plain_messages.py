"""Requests are encoded from plain values, and responses are decoded to plain values."""

from __future__ import annotations

import pytest

from reference_impl.wire.messages import adapter
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import (
    UnreadableResponse,
    decode,
    encode,
    field_names,
    has_schema,
)
from reference_impl.wire.messages.versions import VERSIONS

METADATA = {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}


@pytest.mark.parametrize("api", VERSIONS)
def test_the_broker_reads_every_version_of_a_request_without_fields(api: Api) -> None:
    for version in range(VERSIONS[api].first_answered, VERSIONS[api].last + 1):
        assert has_schema(api, version)
        call = adapter.decode(encode(api, version, 7, {})[4:])
        assert (call.api, call.version, call.correlation_id) == (api, version, 7)


def test_fields_that_a_version_lacks_are_left_out() -> None:
    old, new = (
        adapter.decode(encode(Api.METADATA, version, 1, METADATA)[4:]) for version in (1, 4)
    )
    assert [topic.name for topic in old.body.topics] == ["orders"]
    assert not hasattr(old.body, "allow_auto_topic_creation")
    assert new.body.allow_auto_topic_creation is True


def test_a_response_has_names_of_errors_and_milliseconds() -> None:
    call = adapter.decode(encode(Api.END_TXN, 5, 3, {"transactional_id": "x"})[4:])
    frame = call.respond(error_code=48, producer_id=-1, producer_epoch=-1)
    assert decode(Api.END_TXN, 5, frame[4:]) == {
        "throttle_time": 0,
        "error_code": "INVALID_TXN_STATE",
        "producer_id": -1,
        "producer_epoch": -1,
    }


def test_a_response_that_is_cut_is_unreadable() -> None:
    call = adapter.decode(encode(Api.END_TXN, 5, 3, {"transactional_id": "x"})[4:])
    frame = call.respond(error_code=0, producer_id=1, producer_epoch=0)
    with pytest.raises(UnreadableResponse, match="END_TXN version 5"):
        decode(Api.END_TXN, 5, frame[4:-6])


def test_field_names_are_those_of_all_nested_messages() -> None:
    assert {"topics", "partitions", "fetch_offset"} <= field_names(Api.FETCH, 4)
    assert "current_leader_epoch" not in field_names(Api.FETCH, 4)
