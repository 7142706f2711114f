"""The controller deletes topics, and the brokers delete their replicas of these topics."""

from __future__ import annotations

import pytest

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.controller.controller import Controller
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.node.step import Reply, RequestReceived, Send
from reference_impl.protocol.controller import (
    BrokerHeartbeat,
    CreatedTopic,
    CreateTopic,
    DeletedTopic,
    DeleteTopic,
    MetadataImage,
    RegisterBroker,
    UpdateMetadata,
)
from reference_impl.protocol.messages import FIRST_CLIENT, ErrorCode, NodeId
from reference_impl.protocol.requests import Request, Response

FIRST = TopicPartition("orders", 0)


def sent(
    controller: Controller, request: Request, sender: NodeId = FIRST_CLIENT
) -> tuple[Controller, Response, list[MetadataImage]]:
    after, effects = controller.step(1, RequestReceived(sender, 1, request))
    (reply,) = [effect for effect in effects if isinstance(effect, Reply)]
    images = [
        effect.request.image
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.request, UpdateMetadata)
    ]
    return after, reply.response, images


@pytest.fixture
def controller() -> Controller:
    controller, _ = Controller.start(0, broker_settings=KAFKA_SETTINGS)
    one = BrokerId(1)
    controller, _, _ = sent(controller, RegisterBroker(broker_id=one, incarnation=1), NodeId(1))
    epoch = controller.brokers[one].broker_epoch
    beat = BrokerHeartbeat(broker_id=one, broker_epoch=epoch, metadata_version=controller.version)
    return sent(controller, beat, NodeId(1))[0]


def created(controller: Controller) -> tuple[Controller, CreatedTopic]:
    new = CreateTopic(topic="orders", replication_factor=1)
    controller, answer, _ = sent(controller, new)
    assert isinstance(answer, CreatedTopic)
    return controller, answer


def test_a_deleted_topic_is_not_in_the_next_image(controller: Controller) -> None:
    controller, _ = created(controller)
    controller, answer, (image,) = sent(controller, DeleteTopic(topic="orders"))
    assert answer == DeletedTopic()
    assert image.topic_partitions == ()
    assert controller.topic_partitions == {}


def test_a_topic_that_is_created_again_has_the_next_incarnation(controller: Controller) -> None:
    incarnations: list[int] = []
    for _ in range(3):
        controller, answer = created(controller)
        assert controller.topic_partitions[FIRST].incarnation == answer.incarnation
        incarnations.append(answer.incarnation)
        controller, _, _ = sent(controller, DeleteTopic(topic="orders"))
    assert incarnations == [0, 1, 2]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (DeleteTopic(topic="nope"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (DeleteTopic(topic="orders", incarnation=7), ErrorCode.UNKNOWN_TOPIC_ID),
        (DeleteTopic(topic="nope", incarnation=0), ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_only_an_existing_topic_is_deleted(
    controller: Controller, request_: DeleteTopic, error: ErrorCode
) -> None:
    controller, _ = created(controller)
    after, answer, images = sent(controller, request_)
    assert isinstance(answer, DeletedTopic)
    assert (answer.error, images) == (error, [])
    assert after.topic_partitions == controller.topic_partitions


def test_a_validated_topic_changes_nothing(controller: Controller) -> None:
    new = CreateTopic(topic="orders", replication_factor=1, validate_only=True)
    after, answer, images = sent(controller, new)
    assert (answer, images, after.topic_partitions) == (CreatedTopic(), [], {})
