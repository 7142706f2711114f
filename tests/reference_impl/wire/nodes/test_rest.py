"""Some due timers of an unchanged topic partition do not fire: they would change nothing."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import (
    Effect,
    Input,
    Reply,
    Send,
    SetTimer,
    Timer,
    TimerFired,
    TimerKind,
)
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import CreatedTopic, CreateTopic
from reference_impl.protocol.messages import (
    CONTROLLER,
    ErrorCode,
    Fetch,
    Fetched,
    NodeId,
    Produce,
    Produced,
)
from reference_impl.wire.nodes import rest
from reference_impl.wire.nodes.host import Host

BROKERS = (BrokerId(1), BrokerId(2), BrokerId(3))
PARTITIONS = 30
PLACE = TopicPartition("t", 0)
LATER_MS = 600_000
QUICK = BrokerSettings(
    heartbeat_ms=40,
    session_timeout_ms=200,
    replica_lag_ms=400,
    replica_fetch_wait_ms=30,
    replica_fetch_timeout_ms=150,
    replica_fetch_backoff_ms=10,
    checkpoint_ms=100,
    request_timeout_ms=3_000,
)
Scenario = Callable[[Host], Awaitable[None]]


def run(scenario: Scenario) -> None:
    """Runs the scenario on three brokers with 30 partitions of three replicas."""

    async def hosted() -> None:
        host = Host(BROKERS, print, broker_settings=QUICK)
        host.start()
        await until(lambda: host.is_calm)
        created = await host.requests.call(
            BrokerId(1), CreateTopic(topic="t", topic_partitions=PARTITIONS, replication_factor=3)
        )
        assert isinstance(created, CreatedTopic)
        assert created.error is ErrorCode.NONE
        await until(lambda: len(leaders(host)) == PARTITIONS)
        await scenario(host)
        assert host.failures == []

    asyncio.run(hosted())


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition does not become true"
        await asyncio.sleep(0.01)


def leaders(host: Host) -> dict[TopicPartition, tuple[BrokerId, Leader]]:
    return {
        place: (broker_id, replica)
        for broker_id in BROKERS
        if isinstance(node := host._nodes.get(NodeId(broker_id)), Broker)
        for place, replica in node.replicas.items()
        if isinstance(replica, Leader)
    }


async def produce(host: Host, place: TopicPartition = PLACE) -> None:
    leader, _ = leaders(host)[place]
    batch = encode([Record(value=b"v", timestamp_ms=1)])
    produced = await host.requests.call(leader, Produce(topic_partition=place, batches=batch))
    assert isinstance(produced, Produced)
    assert produced.error is ErrorCode.NONE


ALL_AT_REST = Counter({
    TimerKind.WAITS: PARTITIONS,
    TimerKind.REPLICA_LAG: PARTITIONS,
    TimerKind.FETCH: 2 * PARTITIONS,
})  # fmt: skip


def is_at_rest(host: Host) -> bool:
    return host.timers.resting == ALL_AT_REST


def test_a_cluster_at_rest_steps_no_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Input] = []
    step = Broker.step

    def counted(self: Broker, now_ms: int, event: Input) -> object:
        steps.append(event)
        return step(self, now_ms, event)

    async def scenario(host: Host) -> None:
        await until(lambda: is_at_rest(host))
        monkeypatch.setattr(Broker, "step", counted)
        await asyncio.sleep(5 * QUICK.replica_fetch_wait_ms / 1000)
        assert is_at_rest(host)
        assert steps, "heartbeats continue"
        timers = [event.timer for event in steps if isinstance(event, TimerFired)]
        assert all(timer.topic_partition is None for timer in timers)
        assert len(steps) == len(timers) + sum(
            getattr(event, "sender", None) == CONTROLLER for event in steps
        )

    run(scenario)


def test_a_produce_ends_the_rest_of_its_partition_alone() -> None:
    async def scenario(host: Host) -> None:
        await until(lambda: is_at_rest(host))
        before = leaders(host)
        await produce(host)
        await until(lambda: not is_at_rest(host))
        await until(lambda: is_at_rest(host))
        changed = [
            place for place, (_, leader) in leaders(host).items() if leader is not before[place][1]
        ]
        assert changed == [PLACE]
        ends = [
            node.replicas[PLACE].log.high_watermark
            for broker_id in BROKERS
            if isinstance(node := host._nodes[NodeId(broker_id)], Broker)
        ]
        assert ends == [1, 1, 1], "each follower has learnt the new high watermark"

    run(scenario)


def test_a_cluster_at_rest_survives_the_death_of_a_broker_and_rests_again() -> None:
    async def scenario(host: Host) -> None:
        await until(lambda: is_at_rest(host))
        dead = leaders(host)[PLACE][0]
        host.kill_broker(dead)
        await until(lambda: PLACE in leaders(host))
        await produce(host)
        host.start_broker(dead)
        await until(lambda: all(len(one.state.isr) == 3 for _, one in leaders(host).values()))
        await produce(host)
        await until(lambda: is_at_rest(host))

    run(scenario)


def test_each_timer_at_rest_would_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resting timer (due, but not fired) would change nothing if it fired.

    The test fires each resting timer on a copy of its node, with a clock ten minutes ahead. The log
    and the state of the replica must stay the same.
    """
    held: Counter[TimerKind] = Counter()
    reason_to_rest = rest.reason_to_rest

    def compared(
        nodes: rest.Nodes, node_id: NodeId, timer: Timer, elsewhere: frozenset[NodeId]
    ) -> rest.Reason | None:
        reason = reason_to_rest(nodes, node_id, timer, elsewhere)
        node = nodes.get(node_id)
        if reason is not None and isinstance(node, Broker) and timer.topic_partition is not None:
            held[timer.kind] += 1
            now_ms = round(time.time() * 1000) + LATER_MS
            after, effects = node.step(now_ms, TimerFired(timer))
            assert all(is_empty(one, reason) for one in effects), effects
            old, new = (one.replicas[timer.topic_partition] for one in (node, after))
            assert (new.log, new.state) == (old.log, old.state)
        return reason

    monkeypatch.setattr(rest, "reason_to_rest", compared)

    async def scenario(host: Host) -> None:
        for number in range(60):
            await produce(host, TopicPartition("t", number % PARTITIONS))
            await asyncio.sleep(0.005)
        host.kill_broker(BrokerId(2))
        await until(lambda: len(leaders(host)) == PARTITIONS)
        await asyncio.sleep(0.3)
        host.start_broker(BrokerId(2))
        await until(lambda: all(len(one.state.isr) == 3 for _, one in leaders(host).values()))
        await until(lambda: is_at_rest(host))

    run(scenario)
    assert all(held[kind] > PARTITIONS for kind in ALL_AT_REST)


def test_resting_timers_of_unchanged_partitions_need_no_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The host skips a resting timer only if its reason to rest is unchanged.

    A resting timer is due, but does not fire, because it would change nothing. The host checks a
    resting timer again only if a replica of its partition has changed. The test checks the resting
    timers that the host skips.
    """
    looked: Counter[bool] = Counter()
    since_last_call = rest.ReplicaChanges.since_last_call

    async def scenario(host: Host) -> None:
        def compared(self: rest.ReplicaChanges, nodes: rest.Nodes) -> frozenset[TopicPartition]:
            places = since_last_call(self, nodes)
            for (node_id, timer), reason in host.timers._resting.items():
                if timer.topic_partition not in places:
                    assert rest.is_unchanged(nodes, node_id, timer, reason)
                    looked[bool(places)] += 1
            return places

        monkeypatch.setattr(rest.ReplicaChanges, "since_last_call", compared)
        for number in range(40):
            await produce(host, TopicPartition("t", number % 3))
            await asyncio.sleep(0.01)
        host.kill_broker(BrokerId(2))
        await until(lambda: len(leaders(host)) == PARTITIONS)
        await asyncio.sleep(0.1)
        host.start_broker(BrokerId(2))
        await until(lambda: is_at_rest(host))

    run(scenario)
    assert looked[True] > PARTITIONS


def test_a_changed_new_or_lost_replica_is_found() -> None:
    async def scenario(host: Host) -> None:
        changes = rest.ReplicaChanges()
        every = frozenset(leaders(host))
        assert changes.since_last_call(host._nodes) == every
        await until(lambda: is_at_rest(host))
        changes.since_last_call(host._nodes)
        assert changes.since_last_call(host._nodes) == frozenset()
        await produce(host)
        assert changes.since_last_call(host._nodes) == {PLACE}
        host.kill_broker(BrokerId(3))
        assert changes.since_last_call(host._nodes) == every
        host.start_broker(BrokerId(3))
        await until(lambda: changes.since_last_call(host._nodes) == every)

    run(scenario)


def is_empty(effect: Effect, reason: rest.Reason) -> bool:
    """Returns True if an output of a node has nothing new for its receiver.

    Such an output is a timer, a Fetch response without records and with unchanged offsets, or a
    Fetch request that already waits at the leader.
    """
    match effect, reason:
        case SetTimer(), _:
            return True
        case Reply(_, _, Fetched() as fetched), (Leader() as leader,):
            unchanged = Fetched(
                topic_partition=leader.topic_partition,
                high_watermark=leader.log.high_watermark,
                log_start_offset=leader.log.log_start,
            )
            return fetched == unchanged
        case Send(_, _, Fetch() as fetch), (Follower(), Leader() as leader):
            return any(waiting.request == fetch for waiting in leader.waiting_fetches)
        case _:
            return False


@pytest.mark.parametrize(
    "fault",
    [
        lambda one: replace(one, log=replace(one.log, end_offset=9)),
        lambda one: replace(one, log=replace(one.log, log_start=1)),
        lambda one: replace(one, waiting_fetches=one.waiting_fetches[1:]),
        lambda one: replace(one, in_sync=replace(one.in_sync, proposal=object())),
        lambda one: replace(one, unverified=(object(),)),
    ],
)
def test_a_leader_with_something_to_do_is_not_at_rest(fault: Callable[[Leader], Leader]) -> None:
    async def scenario(host: Host) -> None:
        await until(lambda: is_at_rest(host))
        _, leader = leaders(host)[PLACE]
        assert rest.is_at_rest(leader, BROKERS)
        assert not rest.is_at_rest(fault(leader), BROKERS)

    run(scenario)


def test_a_replica_outside_the_isr_may_be_missing_only_while_its_broker_is_down() -> None:
    async def scenario(host: Host) -> None:
        host.kill_broker(BrokerId(3))
        await until(lambda: all(len(one.state.isr) == 2 for _, one in leaders(host).values()))
        await until(lambda: len(leaders(host)) == PARTITIONS)
        up = BROKERS[:2]
        await until(lambda: all(rest.is_at_rest(one, up) for _, one in leaders(host).values()))
        assert not any(rest.is_at_rest(one, BROKERS) for _, one in leaders(host).values())

    run(scenario)
