"""A coordinator whose log takes time to load begins when this time has passed.

The time starts again in each leader epoch. Until the time has passed, no marker of a prepared
transaction is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import LeaderEpoch, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.broker.coordinators import Loading, LocalCoordinators
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.context import Context
from reference_impl.node.step import RequestReceived, SetTimer, Timer, TimerKind
from reference_impl.partition.leader import Leader, become_leader
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE, java_hash
from reference_impl.protocol.inspection import DescribeTransaction
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import TxnResult, WriteTxnMarker
from tests.reference_impl.conftest import TIMEOUTS
from tests.reference_impl.partition.led import context, state
from tests.reference_impl.transactional import Client

StartCluster = Callable[..., Any]
LOAD_MS = 1_000
SLOW = replace(TIMEOUTS, coordinator_load_ms=LOAD_MS)
TOPICS = (CONSUMER_OFFSETS, TRANSACTION_STATE)
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def at(now_ms: int) -> Context:
    return replace(context(now_ms), broker_settings=SLOW)


def leading(place: TopicPartition, epoch: int) -> dict[TopicPartition, Leader]:
    led = replace(state(), leader_epoch=LeaderEpoch(epoch))
    return {place: become_leader(place, PartitionLog(), ProducerStates(), led, at(0))[0]}


@pytest.mark.parametrize("topic", TOPICS)
def test_the_time_of_a_load_begins_again_in_each_leader_epoch(topic: str) -> None:
    place = TopicPartition(topic, 0)
    timer = Timer(TimerKind.COORDINATOR, place)
    begun, effects = LocalCoordinators().apply_roles(leading(place, 5), at(0))
    assert begun.loading == {place: Loading(LeaderEpoch(5), LOAD_MS)}
    assert effects == (SetTimer(timer, LOAD_MS),)
    # Newer metadata, or a timer of an earlier coordinator, does not end the load.
    begun, _ = begun.apply_roles(leading(place, 5), at(300))
    begun, effects = begun.on_timer(at(LOAD_MS - 1), place, leading(place, 5))
    assert (begun.loading[place].until_ms, effects) == (LOAD_MS, (SetTimer(timer, LOAD_MS),))
    newer, _ = begun.apply_roles(leading(place, 6), at(400))
    assert newer.loading == {place: Loading(LeaderEpoch(6), 400 + LOAD_MS)}
    loaded, _ = begun.on_timer(at(LOAD_MS), place, leading(place, 5))
    assert not loaded.loading
    assert loaded.roles[place].coordinator_epoch == 5
    assert begun.apply_roles({}, at(400))[0] == LocalCoordinators()


def test_a_transactional_id_is_known_again_after_the_load(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=1, broker_settings=SLOW)
    cluster.coordinator("t", transactional=True)
    request = InitProducerId(transactional_id="t", timeout_ms=60_000)
    assert cluster.call(request).error is LOADING
    cluster.pass_time(LOAD_MS)
    producer_id = Client(cluster).begin().producer[0]
    cluster.restart(1)
    describe = DescribeTransaction(transactional_id="t")
    while (answer := cluster.call(describe)).error is ErrorCode.NOT_COORDINATOR:
        cluster.pass_time(10)
    assert answer.error is LOADING
    cluster.pass_time(LOAD_MS)
    assert cluster.call(describe).transaction.producer_id == producer_id


def test_a_prepared_transaction_goes_on_after_the_load(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3, broker_settings=SLOW)
    cluster.create("a")
    cluster.coordinator("t", transactional=True)
    cluster.pass_time(LOAD_MS)
    client, place = Client(cluster).begin(), TopicPartition("a", 0)
    client.send(place, "one")
    first = client.coordinator()
    assert cluster.leader(place) != first  # a message of a broker to itself cannot be lost
    cluster.is_dropped = lambda _to, message: (
        isinstance(message, RequestReceived) and isinstance(message.request, WriteTxnMarker)
    )
    assert client.end(TxnResult.COMMIT).error is ErrorCode.NONE
    del cluster.nodes[first]
    cluster.is_dropped = lambda _to, _message: False
    log = TopicPartition(TRANSACTION_STATE, java_hash("t") % 3)
    loads: list[Loading] = []
    while not loads:
        cluster.pass_time(10)
        brokers = [node for node in cluster.nodes.values() if isinstance(node, Broker)]
        every = (node.local_coordinators.loading for node in brokers)
        loads = [found[log] for found in every if log in found]
    cluster.pass_time(loads[0].until_ms - cluster.now_ms - 1)
    assert cluster.committed(place) == []
    cluster.pass_time(5_000)
    assert cluster.committed(place) == ["one"]
