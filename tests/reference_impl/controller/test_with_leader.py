"""An election ordered by an operator moves leadership to another live member of the ISR."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch
from reference_impl.controller.elections import with_leader
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import NO_BROKER

ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
LED_BY_THREE = PartitionState(
    replicas=(ONE, TWO, THREE),
    isr=(ONE, THREE),
    leader=THREE,
    leader_epoch=LeaderEpoch(4),
    partition_epoch=PartitionEpoch(7),
)


@pytest.mark.parametrize(
    ("leader", "wanted", "alive", "elected"),
    [
        (THREE, None, (ONE, TWO, THREE), ONE),  # the next one in the order of the replicas
        (ONE, None, (ONE, TWO, THREE), THREE),
        (THREE, ONE, (ONE, TWO, THREE), ONE),
        (NO_BROKER, None, (THREE,), THREE),
        (THREE, TWO, (ONE, TWO, THREE), None),  # not in the ISR
        (THREE, THREE, (ONE, TWO, THREE), None),  # it leads already
        (THREE, ONE, (TWO, THREE), None),  # it is down
        (THREE, None, (TWO, THREE), None),
    ],
)
def test_a_live_member_of_the_isr_that_does_not_lead_becomes_the_leader(
    leader: BrokerId, wanted: BrokerId | None, alive: tuple[BrokerId, ...], elected: BrokerId | None
) -> None:
    before = replace(LED_BY_THREE, leader=leader)
    after = with_leader(before, wanted, lambda broker: broker in alive)
    assert (after.leader if after else None) == elected
    if after is not None:
        assert (after.leader_epoch, after.partition_epoch) == (5, 8)
        assert after.isr == before.isr
