"""A prepared frame of the wire benchmark's client can be sent many times, with the same effect."""

from __future__ import annotations

from benchmarks.wire.client import Client, created
from reference_impl.wire.messages import plain_messages
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving


def test_each_frame_can_be_sent_again_and_again() -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        (leader,) = created(cluster.bootstrap_servers, "t", 1, 1)
        with Client(leader) as client:
            produce = client.produce_frame("t", 100, 1_000, 1_000)
            offsets = [base_offset(client, client.exchange(produce)) for _ in range(3)]
            assert offsets == [0, 100, 200]
            fetched = client.exchange(client.fetch_frame("t", 250_000))
            assert 250_000 < len(fetched) < 251_000
            session = client.begin_session("t", 1)
            answers = [client.exchange(client.session_frame(session, epoch)) for epoch in (1, 2)]
            assert all(len(answer) > 250_000 for answer in answers), "the offset stays 0"


def base_offset(client: Client, frame: bytes) -> int:
    answer = plain_messages.decode(Api.PRODUCE, client.version(Api.PRODUCE), frame)
    (topic,) = answer["responses"]
    (partition,) = topic["partition_responses"]
    assert partition["error_code"] == "NONE"
    offset: int = partition["base_offset"]
    return offset
