"""A broker's channel to the controller, for the registration, the heartbeats and the requests that
the broker forwards. The registration comes before the heartbeats:

    start -> RegisterBroker, repeated -> a broker epoch -> BrokerHeartbeat, repeated

Source: KIP-590 (forwarding), KIP-631 (registration, heartbeats).
Simplified: a forwarded request is sent only one time. If the request or its response is lost, the
client gets no response. The channel remembers only the newest 1,000 forwarded requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.node.context import Requester
from reference_impl.node.step import Send, StepResult
from reference_impl.protocol.controller import (
    AdministrationRequest,
    AdministrationResponse,
    BrokerHeartbeat,
    RegisterBroker,
    RegisteredBroker,
)
from reference_impl.protocol.messages import CONTROLLER, UNKNOWN_BROKER_EPOCH, ErrorCode
from reference_impl.protocol.replacing import replace

FORWARDED_AT_MOST: Final = 1_000  # the forwarded requests that the channel remembers


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerChannel:
    broker_id: BrokerId
    incarnation: int  # unique to this start of the broker
    previous_broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # -1: the last stop was not clean
    broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # -1 before the registration
    shutting_down: bool = False
    forwarded: tuple[tuple[int, Requester], ...] = ()

    @property
    def is_registered(self) -> bool:
        return self.broker_epoch != UNKNOWN_BROKER_EPOCH

    def call(self, correlation: int, metadata_version: int) -> Send:
        """Returns the next message to the controller: a registration, or a heartbeat if the broker
        is registered.
        """
        if self.is_registered:
            return self.heartbeat(correlation, metadata_version)
        register = RegisterBroker(
            broker_id=self.broker_id,
            incarnation=self.incarnation,
            previous_broker_epoch=self.previous_broker_epoch,
        )
        return Send(CONTROLLER, correlation, register)

    def heartbeat(self, correlation: int, metadata_version: int) -> Send:
        heartbeat = BrokerHeartbeat(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            metadata_version=metadata_version,
            wants_shut_down=self.shutting_down,
        )
        return Send(CONTROLLER, correlation, heartbeat)

    def with_registration(self, answer: RegisteredBroker) -> ControllerChannel:
        """Returns the channel with the broker epoch of a registration response.

        Returns the unchanged channel if the response has an error, or if the broker is registered
        already.
        """
        if answer.error is not ErrorCode.NONE or self.is_registered:
            # After an error the heartbeat timer repeats the registration.
            return self
        return replace(self, broker_epoch=answer.broker_epoch)

    def forward(
        self, correlation: int, requester: Requester, request: AdministrationRequest
    ) -> StepResult[ControllerChannel]:
        forwarded = (*self.forwarded, (correlation, requester))[-FORWARDED_AT_MOST:]
        return replace(self, forwarded=forwarded), (Send(CONTROLLER, correlation, request),)

    def on_response(
        self, correlation: int, answer: AdministrationResponse
    ) -> StepResult[ControllerChannel]:
        """Sends the controller's response to the client whose forwarded request has the id
        `correlation`. If the channel does not remember such a request, nothing is sent.
        """
        owed = [requester for sent, requester in self.forwarded if sent == correlation]
        rest = tuple(entry for entry in self.forwarded if entry[0] != correlation)
        return replace(self, forwarded=rest), tuple(requester.reply(answer) for requester in owed)
