"""Simulated client applications, and the histories that they record.

An application runs a program: a Python generator that yields requests and pauses.
"""

from __future__ import annotations

import pytest

from model.histories import EndOffset, Poll, Send
from model.vocabulary import BrokerId, LeaderEpoch, Offset, PartitionEpoch, TopicPartition
from reference_impl.protocol.controller import CreateTopic, MetadataImage, PartitionState
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    NodeId,
)
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.programs import Application, Call, Pause, Program
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.sender import Sender

HERE = str(TOPIC_PARTITION)


def copies(app: Application) -> Program:
    brokers = BrokerClient(app=app)
    sender = Sender(app=app, brokers=brokers)
    for value in ("a", "b"):
        yield from sender.send(TOPIC_PARTITION, value)
    reader = Reader(app=app, brokers=brokers, topic_partition=TOPIC_PARTITION)
    yield from reader.read_to_end()


def forever(app: Application) -> Program:
    sender = Sender(app=app, brokers=BrokerClient(app=app))
    for number in range(1_000):
        yield from sender.send(TOPIC_PARTITION, f"v{number}")
        yield Pause(10)


def test_a_program_reads_the_values_that_it_sent() -> None:
    cluster = Cluster()
    program = cluster.run_program(copies)
    assert cluster.run_until(lambda: cluster.is_over(program), 2_000)
    operations = [(o.f, o.outcome, *o.did) for o in cluster.history()]
    assert operations[:3] == [
        ("send", "ok", Send(HERE, "a", 0)),
        ("send", "ok", Send(HERE, "b", 1)),
        ("end_offset", "ok", EndOffset(HERE, 2)),
    ]
    assert [did for _, _, *dids in operations[3:] for did in dids] == [
        Poll(HERE, 0, "a"),
        Poll(HERE, 1, "b"),
    ]


def test_a_killed_program_leaves_its_operation_open_and_records_nothing_more() -> None:
    cluster = Cluster()
    program = cluster.run_program(forever)
    sent = "ok"
    while sent == "ok":  # it dies while a send is on its way
        cluster.run_for(1)
        sent = cluster.history()[-1].outcome if cluster.history() else "ok"
    cluster.kill(program)
    before = cluster.history()
    cluster.run_for(1_000)
    assert cluster.history() == before
    assert before[-1].outcome == "info"
    assert before[-1].completed_ns is None
    assert cluster.is_over(program)


def test_a_program_continues_after_a_leader_change() -> None:
    cluster = Cluster(min_insync_replicas=2)
    program = cluster.run_program(forever)
    cluster.run_for(200)
    cluster.crash(cluster.leader())
    cluster.run_for(3_000)
    cluster.kill(program)
    cluster.recover()
    acknowledged = [d.value for o in cluster.history() if o.outcome == "ok"
                    for d in o.did if isinstance(d, Send)]  # fmt: skip
    log = [value for _, value in cluster.read_all()]
    assert len(acknowledged) > 30
    assert log[: len(acknowledged)] == acknowledged  # each once, in order


def test_topics_have_partitions_of_their_own() -> None:
    cluster = Cluster()
    cluster.create_topic(CreateTopic(topic="output", topic_partitions=2, replication_factor=2))
    output = cluster.topic_partitions("output")
    assert output == (TopicPartition("output", 0), TopicPartition("output", 1))
    assert cluster.leader(output[0]) != cluster.leader(output[1])

    def sends_to_each(app: Application) -> Program:
        sender = Sender(app=app, brokers=BrokerClient(app=app))
        for place in output:
            yield from sender.send(place, f"to {place}")

    program = cluster.run_program(sends_to_each)
    assert cluster.run_until(lambda: cluster.is_over(program), 2_000)
    assert [o.did for o in cluster.history()] == [
        (Send("output-0", "to output-0", 0),),
        (Send("output-1", "to output-1", 0),),
    ]


def test_equal_seeds_give_equal_runs() -> None:
    def digest(seed: int) -> str:
        cluster = Cluster(seed=seed)
        cluster.run_program(forever)
        cluster.run_for(300)
        return cluster.trace.digest()

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_a_reader_lists_the_log_start_if_an_error_does_not_have_it() -> None:
    app = Application(client_id=NodeId(1_000_001), process=1, brokers=(BrokerId(1),))
    brokers = BrokerClient(app=app)
    brokers.image = MetadataImage(
        topic_partitions=(
            (
                TOPIC_PARTITION,
                PartitionState(
                    replicas=(BrokerId(1),),
                    isr=(BrokerId(1),),
                    leader=BrokerId(1),
                    leader_epoch=LeaderEpoch(0),
                    partition_epoch=PartitionEpoch(0),
                ),
            ),
        )
    )
    reader = Reader(app=app, brokers=brokers, topic_partition=TOPIC_PARTITION)
    poll = reader.poll()
    fetch = next(poll)
    assert isinstance(fetch, Call)
    assert isinstance(fetch.request, Fetch)
    error = ErrorCode.OFFSET_OUT_OF_RANGE
    lists = poll.send(Fetched(topic_partition=TOPIC_PARTITION, error=error))
    assert isinstance(lists, Call)
    assert isinstance(lists.request, ListOffsets)
    with pytest.raises(StopIteration):
        poll.send(ListedOffsets(offset=Offset(3)))
    assert reader.position == 3
