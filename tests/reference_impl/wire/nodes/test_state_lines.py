"""The status lines of a cluster describe each broker, topic partition and waiting request."""

from __future__ import annotations

from typing import Any

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import NodeId
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.one_topic import produce
from tests.reference_impl.wire.requests.cluster.test_inspection import created
from tests.reference_impl.wire.waiting import until


def test_a_produce_that_waits_for_a_paused_follower_is_described(connect: Any) -> None:
    with serving(ServeOptions(brokers=2)) as cluster:
        first = connect(cluster.bootstrap_servers)
        created(first, "t", 1, 2)
        until(lambda: "broker 1: t-0: leads" in str(cluster.state()))
        cluster._cluster.pause(NodeId(2))
        first.send(Api.PRODUCE, 9, **produce("t", b"a"))
        until(lambda: "1 produce waits" in str(cluster.state()))
        lines = cluster.state()
        cluster.kill(BrokerId(2))
        assert "broker 2: down" in cluster.state()
    expected = [
        "controller: broker 1: broker epoch 1, not fenced",
        "controller: t-0: leader 1, leader epoch 0, ISR 1 2, ELR empty",
        "broker 1: running, broker epoch 1, metadata version 5, 1 request in flight",
        "broker 1: t-0: leads, leader epoch 0, end offset 1, high watermark 0, 1 produce waits,"
        " proposes no ISR, follower 2 at 0",
        "broker 2: paused, broker epoch 2, metadata version 5, 0 requests in flight",
        "broker 2: t-0: follows 1, leader epoch 0, end offset 0, high watermark 0, a fetch in"
        " flight",
    ]
    assert [line for line in lines if line in expected] == expected, lines
