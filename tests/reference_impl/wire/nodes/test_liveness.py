"""After any faults, a served cluster accepts records again, after a few seconds on its clock.

    faults at random times -> all brokers run and are connected -> each partition accepts a record,
                                                                   and all replicas commit it

The clock is virtual, so a stall of the event loop is a jump of the clock. The faults are crashes,
losses of power, pauses, splits, elections, and stalls of the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.node.step import Input, Timer, TimerKind
from reference_impl.protocol.controller import CreatedTopic, CreateTopic, ElectLeader
from reference_impl.protocol.messages import (
    CONTROLLER,
    NO_BROKER,
    ErrorCode,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.wire.nodes import rest, timers
from reference_impl.wire.nodes.host import SERVED, Host
from reference_impl.wire.nodes.requests_in_flight import BrokerDown
from tests.reference_impl.wire.nodes.virtual_time import VirtualTime, run

BROKERS = (BrokerId(1), BrokerId(2), BrokerId(3))
MIN_ISR = {"one": 1, "two": 2}  # the topics, and their min.insync.replicas
PLACES = tuple(TopicPartition(topic, index) for topic in MIN_ISR for index in range(3))
# The session of a killed broker must expire, and a lagging follower must leave the ISR.
RECOVERS_WITHIN_S = 15.0
BATCH = encode([Record(value=b"v", timestamp_ms=1)])


@dataclass(frozen=True)
class Step:
    """A fault, mostly of one broker, and the seconds until the next fault.

    The fault `stall` blocks the event loop for these seconds.
    """

    fault: str
    broker: int
    seconds: float


class WatchedHost(Host):
    """A host that records a mistake of its brokers: a broker accepts connections while all brokers
    that it knows are fenced.

    The metadata of such a broker would contain no broker. The set `nameless` has the brokers with
    this mistake.
    """

    def __init__(self) -> None:
        super().__init__(BROKERS, print, broker_settings=SERVED)
        self.on_unfenced = lambda broker: self.accepting.add(NodeId(broker))
        self.accepting: set[NodeId] = set()
        self.nameless: set[NodeId] = set()

    def kill_broker(self, broker_id: BrokerId) -> None:
        self.accepting.discard(NodeId(broker_id))
        super().kill_broker(broker_id)

    def _step(self, node_id: NodeId, event: Input, life: int | None = None) -> bool:
        has_stepped = super()._step(node_id, event, life)
        if node_id in self.accepting:
            brokers = self._nodes[node_id].image.brokers
            if all(state.fenced for state in brokers):
                self.nameless.add(node_id)
        return has_stepped


@dataclass
class Trial:
    """A cluster with its faults, and the requests that are still in flight."""

    loop: VirtualTime
    host: WatchedHost = field(default_factory=lambda: WatchedHost())
    in_flight: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])

    async def run(self, steps: Sequence[Step]) -> None:
        self.host.start()
        await self.until(lambda: self.host.is_calm)
        for topic, minimum in MIN_ISR.items():
            request = CreateTopic(
                topic=topic,
                topic_partitions=3,
                replication_factor=3,
                min_insync_replicas=minimum,
            )
            created = await self.host.requests.call(BrokerId(1), request)
            assert isinstance(created, CreatedTopic)
            assert created.error is ErrorCode.NONE
        for step in steps:
            FAULTS[step.fault](self, BrokerId(step.broker), step.seconds)
            await asyncio.sleep(step.seconds)
        await self.recover()
        assert self.host.failures == []

    async def recover(self) -> None:
        """Lets all brokers run, and waits until each partition has accepted a record."""
        self.host.interruptions.heal()
        for broker in BROKERS:
            self.host.resume(broker)
            start(self, broker, 0)
        async with asyncio.timeout(RECOVERS_WITHIN_S):
            await asyncio.gather(*map(self.until_accepted, PLACES))
        await self.until(self.is_replicated)

    async def until_accepted(self, place: TopicPartition) -> None:
        while await self.produce(place) is not ErrorCode.NONE:
            await asyncio.sleep(0.1)

    async def produce(self, place: TopicPartition) -> ErrorCode | None:
        """Returns the error of a produce request to the leader; None if there is no response."""
        (state,) = (state for one, state in self.host.image.topic_partitions if one == place)
        if state.leader == NO_BROKER:
            return None
        try:
            produced = await self.host.requests.call(
                state.leader, Produce(topic_partition=place, batches=BATCH)
            )
        except BrokerDown:
            return None
        assert isinstance(produced, Produced)
        return produced.error

    def is_replicated(self) -> bool:
        """Returns True if all brokers are in each ISR, and have committed all records."""
        for place in PLACES:
            replicas = [self.host.replica(broker, place) for broker in BROKERS]
            ends = {
                end
                for one in replicas
                if one is not None
                for end in (one.log.end_offset, one.log.high_watermark)
            }
            is_full = all(one is not None and len(one.state.isr) == 3 for one in replicas)
            if len(ends) != 1 or not is_full:
                return False
        return True

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(RECOVERS_WITHIN_S):
            while not condition():
                await asyncio.sleep(0.05)

    def later(self, request: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(request)
        self.in_flight.add(task)
        task.add_done_callback(self.in_flight.discard)


def crash(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    if trial.host.is_up(broker):
        trial.host.kill_broker(broker)


def lose_power(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    if trial.host.is_up(broker):
        trial.host.lose_power(broker)


def start(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    if not trial.host.is_up(broker):
        trial.host.start_broker(broker)


def pause(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    if trial.host.is_up(broker):
        trial.host.pause(broker)


def resume(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    trial.host.resume(broker)


def split(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    others = [NodeId(one) for one in BROKERS if one != broker]
    trial.host.interruptions.split([NodeId(broker)], [CONTROLLER, *others])


def heal(trial: Trial, _broker: BrokerId, _seconds: float) -> None:
    trial.host.interruptions.heal()


def elect(trial: Trial, broker: BrokerId, _seconds: float) -> None:
    request = ElectLeader(topic_partition=PLACES[broker], broker=None)
    trial.later(trial.host.requests.call(BrokerId(CONTROLLER), request))


def stall(trial: Trial, _broker: BrokerId, seconds: float) -> None:
    trial.loop.stall(seconds)


def produce(trial: Trial, _broker: BrokerId, _seconds: float) -> None:
    for place in PLACES:
        trial.later(trial.produce(place))


FAULTS: dict[str, Callable[[Trial, BrokerId, float], None]] = {
    "crash": crash,
    "lose power": lose_power,
    "start": start,
    "stall": stall,
    "produce": produce,
    "elect": elect,
    "pause": pause,
    "resume": resume,
    "split": split,
    "heal": heal,
}
WITHOUT_SILENT_BROKERS = [*FAULTS][:6]  # a broker is down, or its messages arrive


def steps_of(faults: Sequence[str]) -> st.SearchStrategy[list[Step]]:
    step = st.builds(
        Step,
        fault=st.sampled_from(faults),
        broker=st.sampled_from([int(broker) for broker in BROKERS]),
        seconds=st.sampled_from([0.0, 0.001, 0.05, 0.3, 1.0, 2.9, 3.2, 6.0]),
    )
    return st.lists(step, max_size=30)


def carry_out(steps: Sequence[Step]) -> Trial:
    """Runs one trial. Raises TimeoutError if a topic partition accepts no record after the last
    step.
    """
    loop = VirtualTime()
    trial = Trial(loop)
    run(trial.run(steps), loop)
    return trial


@settings(max_examples=25)
@given(steps_of([*FAULTS]))
def test_after_any_faults_each_partition_accepts_records_again(steps: list[Step]) -> None:
    carry_out(steps)


def never_changed(_changes: rest.ReplicaChanges, _nodes: rest.Nodes) -> frozenset[TopicPartition]:
    return frozenset()


def rests_always(_nodes: rest.Nodes, _node_id: NodeId, timer: Timer) -> rest.Reason | None:
    return () if timer.kind is TimerKind.FETCH else None


@pytest.mark.parametrize(
    ("owner", "name", "faulty"),
    [
        (rest.ReplicaChanges, "since_last_call", never_changed),  # no resting timer wakes
        (rest, "reason_to_rest", rests_always),  # a follower never repeats a lost fetch
    ],
)
def test_a_lost_wake_up_is_found(
    owner: object, name: str, faulty: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, faulty)
    steps = [
        Step("produce", 1, 6.0),
        Step("crash", 3, 3.2),
        Step("split", 2, 1.0),
        Step("produce", 1, 2.9),
    ]
    with pytest.raises(TimeoutError):
        carry_out(steps)


@settings(max_examples=25)
@given(steps_of(WITHOUT_SILENT_BROKERS))
def test_an_accepting_broker_always_names_a_live_broker(steps: list[Step]) -> None:
    """A broker accepts connections only when its metadata names a live broker.

    A client that gets metadata without any broker may forget all brokers, as librdkafka does. Then
    its sends fail for minutes. So a stall of the event loop must not fence all brokers.
    """
    assert carry_out(steps).host.nameless == set()


def test_brokers_that_accept_at_their_start_name_no_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def accepts_at_once(host: Host, broker: BrokerId) -> None:
        host.on_unfenced(broker)
        Host.start_broker(host, broker)

    monkeypatch.setattr(WatchedHost, "start_broker", accepts_at_once)
    assert carry_out([]).host.nameless == {1, 2, 3}


def test_a_stall_fences_every_broker_if_sessions_are_checked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = [Step("stall", 1, seconds) for seconds in (3.1, 3.2, 3.3, 3.4, 3.5, 6.0)]
    assert carry_out(steps).host.nameless == set()
    monkeypatch.setattr(timers, "_OF_SILENCE", frozenset())
    assert carry_out(steps).host.nameless == {1, 2, 3}
