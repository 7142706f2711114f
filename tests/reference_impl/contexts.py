"""The context in which broker 1 takes a step; tests replace the fields that matter to them."""

from __future__ import annotations

from typing import Final

from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.node.bugs import NO_BUGS
from reference_impl.node.context import Context
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.controller import BrokerState

BROKER_1: Final = Context(
    now_ms=0,
    broker_id=BrokerId(1),
    broker_epoch=BrokerEpoch(11),
    brokers={},
    correlation=1,
    broker_settings=BrokerSettings(),
    bugs=NO_BUGS,
)


def registered(*brokers: int, fenced: tuple[int, ...] = ()) -> dict[BrokerId, BrokerState]:
    """Returns the brokers that the controller knows; broker n has the epoch 10 + n."""
    return {
        BrokerId(n): BrokerState(
            broker_id=BrokerId(n), broker_epoch=BrokerEpoch(10 + n), fenced=n in fenced
        )
        for n in brokers
    }
