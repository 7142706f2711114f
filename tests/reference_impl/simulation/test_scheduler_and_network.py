"""The scheduler orders events; the network delivers, loses and duplicates messages."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.simulation.network import Conditions, Link, Network
from reference_impl.simulation.scheduler import Scheduler

ONE, OTHER = NodeId(1), NodeId(2)


def drained(scheduler: Scheduler[str], end_ms: int = 1_000) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while (event := scheduler.next_before(end_ms)) is not None:
        found.append((scheduler.now_ms, event))
    return found


@given(st.lists(st.integers(0, 5)), st.integers())
def test_events_come_in_the_order_of_their_times(times: list[int], seed: int) -> None:
    scheduler: Scheduler[str] = Scheduler(Random(seed))
    for at_ms in times:
        scheduler.schedule(at_ms, "event")
    assert [at_ms for at_ms, _ in drained(scheduler)] == sorted(times)
    assert scheduler.now_ms == 1_000


def test_the_seed_orders_events_of_equal_times() -> None:
    orders: list[str] = []
    for seed in (*range(20), *range(20)):
        scheduler: Scheduler[str] = Scheduler(Random(seed))
        for event in "abc":
            scheduler.schedule(3, event)
        orders.append("".join(event for _, event in drained(scheduler)))
    assert orders[:20] == orders[20:]
    assert len(set(orders)) > 1


@given(st.lists(st.integers(0, 9), min_size=1), st.integers())
def test_an_event_scheduled_after_another_comes_after_it(delays: list[int], seed: int) -> None:
    scheduler: Scheduler[str] = Scheduler(Random(seed))
    due = None
    for number, delay_ms in enumerate(delays):
        due = scheduler.schedule(delay_ms, str(number), after=due)
    assert [event for _, event in drained(scheduler)] == [str(n) for n in range(len(delays))]


def test_a_split_loses_one_direction_until_it_heals() -> None:
    network = Network(Random(0))
    network.split_one_way(ONE, OTHER)
    assert network.delays_ms(Link(ONE, OTHER), is_response=False) == ()
    assert network.delays_ms(Link(OTHER, ONE), is_response=False) == (1,)
    network.heal()
    assert network.delays_ms(Link(ONE, OTHER), is_response=False) == (1,)


def test_drop_responses_drops_only_responses_and_only_so_many() -> None:
    network = Network(Random(0))
    network.responses_to_drop[OTHER] = 2
    link = Link(ONE, OTHER)
    assert network.delays_ms(link, is_response=False) == (1,)
    assert [network.delays_ms(link, is_response=True) for _ in range(3)] == [(), (), (1,)]


def test_loss_and_doubling_have_their_rates_and_the_controller_gets_no_duplicates() -> None:
    network = Network(Random(0), Conditions(delay_ms=2, jitter_ms=3, loss=20, doubling=30))
    copies = [network.delays_ms(Link(ONE, OTHER), is_response=False) for _ in range(2_000)]
    assert 300 < copies.count(()) < 500
    assert 350 < sum(len(delays) == 2 for delays in copies) < 650
    assert {delay for delays in copies for delay in delays} == {2, 3, 4, 5}
    to_controller = [
        network.delays_ms(Link(ONE, CONTROLLER), is_response=False) for _ in range(500)
    ]
    assert max(map(len, to_controller)) == 1
    network.calm_down()
    assert all(network.delays_ms(Link(ONE, OTHER), is_response=True) for _ in range(100))
