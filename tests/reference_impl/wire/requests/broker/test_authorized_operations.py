"""If a client asks for it, descriptions list the operations that the client is authorized to do
(KIP-430).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served

Connect = Callable[..., Any]
NOT_INCLUDED = -(2**31)
CONFIGS = {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}
OF_CLUSTER = {"CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "IDEMPOTENT_WRITE", *CONFIGS}
OF_TOPIC = {"READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", *CONFIGS}
OF_GROUP = {"READ", "DELETE", "DESCRIBE", *CONFIGS}


@pytest.fixture(scope="module")
def admin(cluster: Served) -> AdminClient:
    """Returns a client of a cluster with the topic `t` and the classic group `g`."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic("t", 1, 3)])["t"].result()
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    consumer.subscribe(["t"])
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.close()
    return admin


def names(operations: Any) -> set[str]:
    return {one.name for one in operations}


def test_an_admin_client_sees_all_operations(admin: AdminClient) -> None:
    included: Any = {"include_authorized_operations": True}
    cluster = admin.describe_cluster(**included).result()
    assert names(cluster.authorized_operations) == OF_CLUSTER
    group = admin.describe_consumer_groups(["g"], **included)["g"].result()
    assert names(group.authorized_operations) == OF_GROUP


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("name", ["t", "unknown"])
@pytest.mark.usefixtures("admin")
def test_metadata_lists_operations_on_request(
    cluster: Served, connect: Connect, name: str, asks: bool
) -> None:
    """The response lists the authorized operations of an unknown topic too.

    Kafka: KafkaApis.handleTopicMetadataRequest.
    """
    answer = connect(cluster.bootstrap_servers).call(
        Api.METADATA,
        10,
        topics=[{"name": name}],
        include_topic_authorized_operations=asks,
        include_cluster_authorized_operations=asks,
    )
    (topic,) = answer.topics
    assert topic.topic_authorized_operations == (0b110111111000 if asks else NOT_INCLUDED)
    assert answer.cluster_authorized_operations == (0b1111110100000 if asks else NOT_INCLUDED)


@pytest.mark.usefixtures("admin")
def test_describe_topic_partitions_always_lists_operations(
    cluster: Served, connect: Connect
) -> None:
    """Other requests have a field that turns the list of operations on or off. This request has
    none. Kafka: DescribeTopicPartitionsRequestHandler.
    """
    answer = connect(cluster.bootstrap_servers).call(
        Api.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": "t"}, {"name": "unknown"}], cursor=None
    )
    assert {one.topic_authorized_operations for one in answer.topics} == {0b110111111000}


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.usefixtures("admin")
def test_a_group_with_an_error_has_no_operations(
    cluster: Served, connect: Connect, asks: bool
) -> None:
    """An unknown group has an error in DescribeGroups from version 6 on. Up to version 5 it has no
    error, and so it has operations. Kafka: KafkaApis.handleDescribeGroupsRequest,
    handleConsumerGroupDescribe.
    """
    every = [connect(cluster.bootstrap_servers, number) for number in range(3)]
    for api, version, field, expected in (
        (Api.DESCRIBE_GROUPS, 5, "groups", 0b110101001000 if asks else NOT_INCLUDED),
        (Api.DESCRIBE_GROUPS, 6, "groups", NOT_INCLUDED),
        (Api.CONSUMER_GROUP_DESCRIBE, 1, "group_ids", NOT_INCLUDED),
    ):
        wanted: dict[str, Any] = {field: ["unknown"], "include_authorized_operations": asks}
        answers = [one.call(api, version, **wanted).groups[0] for one in every]
        unmoved = [one for one in answers if one.error_code != 16]  # NOT_COORDINATOR
        assert [one.authorized_operations for one in unmoved] == [expected]
