"""A broker's channel to the controller: registration, heartbeats and forwarded requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.broker.controller_channel import FORWARDED_AT_MOST, ControllerChannel
from reference_impl.node.context import Requester
from reference_impl.node.step import Reply, Send
from reference_impl.protocol.controller import (
    BrokerHeartbeat,
    CreatedTopic,
    CreateTopic,
    RegisterBroker,
    RegisteredBroker,
)
from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, ErrorCode, NodeId

CHANNEL = ControllerChannel(
    broker_id=BrokerId(1), incarnation=4, previous_broker_epoch=BrokerEpoch(9)
)
ASKS = CreateTopic(topic="t")


def test_the_channel_registers_until_it_has_a_broker_epoch_and_keeps_the_first() -> None:
    register = RegisterBroker(
        broker_id=BrokerId(1), incarnation=4, previous_broker_epoch=BrokerEpoch(9)
    )
    refused = RegisteredBroker(error=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    assert CHANNEL.call(7, 0) == Send(CONTROLLER, 7, register)
    assert CHANNEL.with_registration(refused) is CHANNEL
    known = CHANNEL.with_registration(RegisteredBroker(broker_epoch=BrokerEpoch(20)))
    assert known.with_registration(RegisteredBroker(broker_epoch=BrokerEpoch(30))) is known
    heartbeat = BrokerHeartbeat(
        broker_id=BrokerId(1), broker_epoch=BrokerEpoch(20), metadata_version=5
    )
    assert known.call(8, 5) == known.heartbeat(8, 5) == Send(CONTROLLER, 8, heartbeat)


@given(st.lists(st.integers(0, 5), unique=True), st.data())
def test_each_forwarded_request_gets_its_response_once(
    asked: list[int], data: st.DataObject
) -> None:
    channel = CHANNEL
    for number in asked:
        who = Requester(NodeId(FIRST_CLIENT + number), 100 + number)
        channel, sent = channel.forward(number, who, ASKS)
        assert sent == (Send(CONTROLLER, number, ASKS),)
    for number in data.draw(st.permutations(asked)):
        channel, response = channel.on_response(number, CreatedTopic())
        assert response == (Reply(NodeId(FIRST_CLIENT + number), 100 + number, CreatedTopic()),)
        assert channel.on_response(number, CreatedTopic())[1] == ()
    assert channel == CHANNEL


def test_the_newest_thousand_forwarded_requests_are_remembered() -> None:
    channel, who = CHANNEL, Requester(NodeId(FIRST_CLIENT), 1)
    for number in range(FORWARDED_AT_MOST + 1):
        channel, _ = channel.forward(number, who, ASKS)
    assert channel.on_response(0, CreatedTopic())[1] == ()
    assert channel.on_response(1, CreatedTopic())[1] == (who.reply(CreatedTopic()),)
