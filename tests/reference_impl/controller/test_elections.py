"""An election sets the leader, the ISR and the ELR by the rules in the docstring of the tested
module.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch
from reference_impl.controller.elections import change_without, partition_change
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import NO_BROKER

ALL = (1, 2, 3)


def state(
    isr: tuple[int, ...] = ALL,
    leader: int = 1,
    *,
    elr: tuple[int, ...] = (),
    last_known: int = NO_BROKER,
    unclean: bool = False,
) -> PartitionState:
    return PartitionState(
        replicas=tuple(map(BrokerId, ALL)),
        isr=tuple(map(BrokerId, isr)),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(5),
        partition_epoch=PartitionEpoch(9),
        min_insync_replicas=2,
        elr=tuple(map(BrokerId, elr)),
        last_known_leader=BrokerId(last_known),
        unclean_leader_election=unclean,
    )


def where(after: PartitionState) -> tuple[int, tuple[int, ...], tuple[int, ...], bool]:
    return after.leader, after.isr, after.elr, after.recovering


@pytest.mark.parametrize(
    ("before", "alive", "after"),
    [
        (state(), ALL, (1, ALL, (), False)),
        (state((2, 3)), (2, 3), (2, (2, 3), (), False)),
        (state((3,)), (3,), (3, (3,), (), False)),
        (state((), NO_BROKER, elr=(2, 3)), (1, 3), (3, (3,), (2,), False)),
        (state((), NO_BROKER, elr=(2,)), (1, 3), (NO_BROKER, (), (2,), False)),
        (state((), NO_BROKER, last_known=2), (1, 2), (2, (2,), (), True)),
        (state((), NO_BROKER, last_known=2), (1, 3), (NO_BROKER, (), (), False)),
        (state((), NO_BROKER, elr=(2,), unclean=True), (1, 3), (1, (1,), (), True)),
    ],
)
def test_the_first_row_with_a_live_candidate_decides(
    before: PartitionState,
    alive: tuple[int, ...],
    after: tuple[int, tuple[int, ...], tuple[int, ...], bool],
) -> None:
    elected = partition_change(before, before.isr, lambda broker: broker in alive, elr=True)
    assert where(elected) == after
    assert elected.leader_epoch - before.leader_epoch == (elected.leader != before.leader)
    assert elected.partition_epoch == before.partition_epoch + 1


def test_a_replica_that_leaves_an_isr_below_the_minimum_is_eligible_until_an_unclean_shutdown() -> (
    None
):
    alive = {1, 2, 3}

    def lost(before: PartitionState, broker: int, *, unclean: bool = False) -> PartitionState:
        alive.discard(broker)
        return change_without(
            before, BrokerId(broker), alive.__contains__, elr=True, unclean_shutdown=unclean
        )

    two = lost(state(), 3)
    assert where(two) == (1, (1, 2), (), False)  # two are enough: 3 may lack what they have
    one = lost(two, 2)
    assert where(one) == (1, (1,), (2,), False)
    none = lost(one, 1)
    assert where(none) == (NO_BROKER, (), (1, 2), False)
    assert none.last_known_leader == 1
    power_lost = lost(lost(none, 1, unclean=True), 2, unclean=True)
    assert where(power_lost) == (NO_BROKER, (), (), False)
    assert power_lost.last_known_leader == 1


def test_without_elr_the_last_member_never_leaves_the_isr_even_after_an_unclean_shutdown() -> None:
    alone = state((1,))
    after = change_without(alone, BrokerId(1), lambda _: False, elr=False, unclean_shutdown=True)
    assert where(after) == (NO_BROKER, (1,), (), False)
    again = partition_change(after, after.isr, lambda broker: broker == 1, elr=False)
    assert where(again) == (1, (1,), (), False)


members = st.sets(st.sampled_from(ALL)).map(lambda some: tuple(sorted(some)))


@given(isr=members, new=members, elr=members, alive=members, unclean=st.booleans())
def test_a_leader_is_live_and_in_sync_and_a_clean_one_was_in_sync_or_eligible(
    isr: tuple[int, ...],
    new: tuple[int, ...],
    elr: tuple[int, ...],
    alive: tuple[int, ...],
    unclean: bool,
) -> None:
    before = state(
        isr, isr[0] if isr else NO_BROKER, elr=tuple(set(elr) - set(isr)), unclean=unclean
    )
    after = partition_change(before, tuple(map(BrokerId, new)), alive.__contains__, elr=True)
    assert not set(after.elr) & set(after.isr)
    assert len(after.isr) < 2 or after.elr == ()
    if after.leader == NO_BROKER:
        assert not (unclean and alive)
        return
    assert after.leader in alive
    assert after.leader in after.isr
    if not after.recovering:
        assert after.leader in {*new, *before.isr, *before.elr}
