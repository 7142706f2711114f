"""What a step of a broker knows of the cluster."""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import BrokerEpoch, BrokerId
from tests.reference_impl.contexts import BROKER_1, registered


def test_a_broker_may_be_in_sync_if_it_is_registered_and_not_fenced() -> None:
    context = replace(BROKER_1, brokers=registered(2, 3, fenced=(3,)))
    assert context.may_be_in_sync(BrokerId(2))
    assert not context.may_be_in_sync(BrokerId(3))
    assert not context.may_be_in_sync(BrokerId(1))


def test_producer_ids_of_two_steps_or_two_lives_differ() -> None:
    lives = [replace(BROKER_1, broker_epoch=epoch) for epoch in map(BrokerEpoch, (11, 12))]
    steps = [replace(life, correlation=n) for life in lives for n in (1, 2)]
    assert len({step.new_producer_id for step in steps}) == 4
    assert all(step.new_producer_id >= 0 for step in steps)
