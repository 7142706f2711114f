"""The broker answers as a Kafka broker that has no authorizer, no share groups and no streams
groups.

Delegation tokens need an authenticated connection, so requests for them are refused too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.single_requests import versions

Connect = Callable[..., Any]
DISABLED = ErrorCode.SECURITY_DISABLED
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.fixture
def broker(cluster: Served, connect: Connect) -> Any:
    return connect(cluster.bootstrap_servers)


@versions(Api.DESCRIBE_ACLS)
def test_no_acls_are_described(version: int, broker: Any) -> None:
    answer = broker.call(Api.DESCRIBE_ACLS, version, resource_type_filter=1)
    assert (answer.error_code, answer.resources) == (DISABLED, ())


@versions(Api.CREATE_ACLS)
def test_no_acl_is_created_or_deleted(version: int, broker: Any) -> None:
    created = broker.call(Api.CREATE_ACLS, version, creations=[{"resource_name": "t"}] * 2)
    assert [one.error_code for one in created.results] == [DISABLED] * 2
    filters = [{"resource_type_filter": 1}]
    (deleted,) = broker.call(Api.DELETE_ACLS, version, filters=filters).filter_results
    assert (deleted.error_code, deleted.matching_acls) == (DISABLED, ())


@pytest.mark.parametrize("version", [1, 2])
def test_tokens_need_an_authenticated_connection(version: int, broker: Any) -> None:
    for api in (Api.RENEW_DELEGATION_TOKEN, Api.EXPIRE_DELEGATION_TOKEN):
        broker.send(api, version, hmac=b"1")
        frame = broker.receive_frame()  # kio reads no time before 1970, and Kafka has -1 here
        header = 5 if version >= 2 else 4
        assert struct.unpack(">hq", frame[header : header + 10]) == (NOT_ALLOWED, -1)
    described = broker.call(Api.DESCRIBE_DELEGATION_TOKEN, version, owners=None)
    assert (described.error_code, described.tokens) == (NOT_ALLOWED, ())


@versions(Api.CREATE_DELEGATION_TOKEN)
def test_no_token_is_created(version: int, broker: Any) -> None:
    """The test compares bytes: Kafka's times are -1, and kio cannot read a time before 1970."""
    fields = {"owner_principal_type": "User", "owner_principal_name": "o"} if version == 3 else {}
    broker.send(Api.CREATE_DELEGATION_TOKEN, version, renewers=[], **fields)
    body = broker.receive_frame()[5 if version >= 2 else 4 :]
    assert struct.unpack(">h", body[:2]) == (NOT_ALLOWED,)
    owner = [b"User", b"o" if version == 3 else b"ANONYMOUS"]
    requester = [b"User", b"ANONYMOUS"] if version == 3 else []
    length = ">B" if version >= 2 else ">h"
    texts = [
        struct.pack(length, len(text) + (version >= 2)) + text for text in (*owner, *requester)
    ]
    assert body[2:].startswith(b"".join(texts) + struct.pack(">3q", -1, -1, -1))


def test_librdkafka_learns_that_there_is_no_authorizer(cluster: Served) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    wanted = AclBinding(
        ResourceType.TOPIC,
        "t",
        ResourcePatternType.LITERAL,
        "User:u",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    with pytest.raises(KafkaException) as refused:
        admin.create_acls([wanted])[wanted].result(10)
    assert refused.value.args[0].code() == DISABLED


SHARE_AND_STREAMS = (
    Api.SHARE_GROUP_HEARTBEAT,
    Api.STREAMS_GROUP_HEARTBEAT,
    Api.SHARE_FETCH,
    Api.SHARE_ACKNOWLEDGE,
    Api.ALTER_SHARE_GROUP_OFFSETS,
    Api.DELETE_SHARE_GROUP_OFFSETS,
)


@pytest.mark.parametrize("api", SHARE_AND_STREAMS, ids=lambda api: api.name.lower())
def test_share_and_streams_groups_are_an_unsupported_version(api: Api, broker: Any) -> None:
    answer = broker.call(api, VERSIONS[api].last, group_id="g")
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_share_and_streams_groups_are_described_with_an_error_each(broker: Any) -> None:
    for api in (Api.SHARE_GROUP_DESCRIBE, Api.STREAMS_GROUP_DESCRIBE):
        described = broker.call(api, VERSIONS[api].last, group_ids=["g", "h"]).groups
        found = [(one.group_id, one.error_code) for one in described]
        assert found == [(group, ErrorCode.UNSUPPORTED_VERSION) for group in "gh"]
    wanted = [{"group_id": "g", "topics": None}]
    (of_group,) = broker.call(Api.DESCRIBE_SHARE_GROUP_OFFSETS, 0, groups=wanted).groups
    assert (of_group.error_code, of_group.topics) == (ErrorCode.UNSUPPORTED_VERSION, ())


@pytest.mark.parametrize("api", [api for api in VERSIONS if "SHARE_GROUP_STATE" in api.name])
def test_no_broker_is_a_share_coordinator(api: Api, broker: Any) -> None:
    topics = [{"topic_id": UUID(int=5), "partitions": [{"partition": 3}]}]
    (topic,) = broker.call(api, VERSIONS[api].last, group_id="g", topics=topics).results
    (found,) = topic.partitions
    assert (found.partition, found.error_code) == (3, ErrorCode.NOT_COORDINATOR)
