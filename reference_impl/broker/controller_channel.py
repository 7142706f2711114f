"""A broker and its controller: it registers, says that it lives, and passes on what it is asked.

    start -> RegisterBroker, again and again -> a broker epoch -> BrokerHeartbeat, again and again

The broker epoch is that of this life; a registration that is answered twice counts once.

Source: KIP-590 (forwarding), KIP-631 (registration, heartbeats).
Simplified: of requests that were passed on the newest thousand are remembered; no answer is waited
for in vain, who asked asks again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

FORWARDED_AT_MOST: Final = 1_000  # requests whose answers are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerChannel:
    """One life of a broker, as its controller hears of it."""

    broker_id: BrokerId
    incarnation: int  # tells this life from every other one
    previous_broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # -1: no clean shutdown before this
    broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # -1 until registered
    shutting_down: bool = False
    forwarded: tuple[tuple[int, Requester], ...] = ()

    @property
    def is_registered(self) -> bool:
        """The controller has given this life its broker epoch."""
        return self.broker_epoch != UNKNOWN_BROKER_EPOCH

    def call(self, correlation: int, metadata_version: int) -> Send:
        """What the controller is told from time to time."""
        if self.is_registered:
            return self.heartbeat(correlation, metadata_version)
        register = RegisterBroker(
            broker_id=self.broker_id,
            incarnation=self.incarnation,
            previous_broker_epoch=self.previous_broker_epoch,
        )
        return Send(CONTROLLER, correlation, register)

    def heartbeat(self, correlation: int, metadata_version: int) -> Send:
        """The broker lives, and has applied the metadata up to this version."""
        heartbeat = BrokerHeartbeat(
            broker_id=self.broker_id,
            broker_epoch=self.broker_epoch,
            metadata_version=metadata_version,
            wants_shut_down=self.shutting_down,
        )
        return Send(CONTROLLER, correlation, heartbeat)

    def registered(self, answer: RegisteredBroker) -> ControllerChannel:
        """The same, registered; itself after a refusal: the heartbeat's timer tries again."""
        if answer.error is not ErrorCode.NONE or self.is_registered:
            return self
        return replace(self, broker_epoch=answer.broker_epoch)

    def forward(
        self, correlation: int, requester: Requester, request: AdministrationRequest
    ) -> StepResult[ControllerChannel]:
        """The request goes on to the controller, and who asked is remembered."""
        forwarded = (*self.forwarded, (correlation, requester))[-FORWARDED_AT_MOST:]
        return replace(self, forwarded=forwarded), (Send(CONTROLLER, correlation, request),)

    def answered(
        self, correlation: int, answer: AdministrationResponse
    ) -> StepResult[ControllerChannel]:
        """The answer goes back to who asked; nobody waits for it twice."""
        owed = [requester for sent, requester in self.forwarded if sent == correlation]
        rest = tuple(entry for entry in self.forwarded if entry[0] != correlation)
        return replace(self, forwarded=rest), tuple(who.reply(answer) for who in owed)
