"""A broker deletes its replicas of deleted topics, and answers the clients that wait for these
topics.
"""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import BrokerId
from reference_impl.broker.deleted_topics import remaining
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.step import Readable, Reply
from reference_impl.partition.appends import produce
from reference_impl.partition.follower import Follower
from reference_impl.protocol.controller import MetadataImage
from reference_impl.protocol.messages import ErrorCode, Produced
from tests.reference_impl.partition.led import CLIENT, TP, context, leading, record, state

ME = BrokerId(1)
EMPTY = MetadataImage(version=2)


def test_clients_that_wait_at_a_deleted_leader_get_an_error() -> None:
    leader, _ = produce(leading(), context(), CLIENT, record())
    left = remaining({TP: leader}, {}, EMPTY, ME)
    assert left.replicas == {}
    assert len(left.stopped) == 2
    answer, woken = left.stopped
    assert isinstance(answer, Reply)
    assert isinstance(answer.response, Produced)
    assert answer.response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert woken == Readable(TP)


def test_consumers_at_a_deleted_follower_are_woken() -> None:
    follower = Follower(
        topic_partition=TP, log=PartitionLog(), producers=ProducerStates(), state=state()
    )
    assert remaining({TP: follower}, {}, EMPTY, ME) == ({}, {}, (Readable(TP),))


def test_a_replica_stays_while_its_topic_and_its_broker_are_the_same() -> None:
    leader = leading()
    image = MetadataImage(version=2, topic_partitions=((TP, state()),))
    logs = {TP: PartitionLog()}
    assert remaining({TP: leader}, logs, image, ME) == ({TP: leader}, logs, ())
    again = MetadataImage(version=2, topic_partitions=((TP, replace(state(), incarnation=1)),))
    assert remaining({TP: leader}, {}, again, ME).replicas == {}
    assert remaining({TP: leader}, logs, image, BrokerId(9)) == ({}, {}, (Readable(TP),))
