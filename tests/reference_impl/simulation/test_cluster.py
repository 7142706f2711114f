"""The history and the logs of a simulated cluster under one fault at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.histories import EndOffset, Operation, Poll, Send
from reference_impl.protocol.messages import ACKS_LEADER, ACKS_NONE, NO_BROKER, NodeId
from reference_impl.protocol.topic_config import LARGEST_MS, LogConfig
from reference_impl.simulation.cluster import QUICK, Cluster
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.world import NoProgress


def started(config: ProducerConfig | None = None, *, min_isr: int = 2) -> tuple[Cluster, NodeId]:
    cluster = Cluster(min_insync_replicas=min_isr)
    producer = cluster.add_producer(config)
    cluster.send(producer, "first")
    assert cluster.run_until(lambda: cluster.producer(producer).idle, 500)
    return cluster, producer


def sends(cluster: Cluster) -> dict[str, tuple[str, int | None]]:
    return {
        did.value: (operation.outcome, did.offset)
        for operation in cluster.history()
        for did in operation.did
        if isinstance(did, Send)
    }


def values(cluster: Cluster) -> list[str]:
    return [value for _, value in cluster.read_all()]


def test_a_cluster_without_faults_appends_in_order_and_returns_the_offsets() -> None:
    cluster, producer = started()
    cluster.send(producer, "a", "b", "c")
    cluster.recover()
    assert sends(cluster) == {"first": ("ok", 0), "a": ("ok", 1), "b": ("ok", 2), "c": ("ok", 3)}
    assert values(cluster) == ["first", "a", "b", "c"]


def test_a_crashed_leader_is_replaced_and_acknowledged_records_remain() -> None:
    cluster, producer = started()
    first = cluster.leader()
    cluster.crash(first)
    cluster.send(producer, "a")
    cluster.run_for(2_000)
    assert cluster.leader() not in {first, -1}
    assert cluster.in_sync() == tuple(b for b in cluster.broker_ids if b != first)
    assert sends(cluster)["a"] == ("ok", 1)
    cluster.recover()
    assert set(cluster.in_sync()) == set(cluster.broker_ids)
    assert values(cluster) == ["first", "a"]


def test_an_isolated_leader_acknowledges_acks_one_and_loses_it() -> None:
    cluster, producer = started(ProducerConfig(acks=ACKS_LEADER, retries=False, idempotent=False))
    cluster.isolate(cluster.leader())
    cluster.send(producer, "lost")
    cluster.run_for(1_000)
    assert sends(cluster)["lost"] == ("ok", 1)
    cluster.recover()
    assert values(cluster) == ["first"]


def test_a_dropped_response_is_retried_and_the_record_is_there_once() -> None:
    cluster, producer = started()
    cluster.drop_responses(producer)
    cluster.send(producer, "a")
    cluster.run_for(100)
    assert sends(cluster)["a"] == ("info", None)  # the outcome is still unknown
    cluster.recover()
    assert sends(cluster)["a"] == ("ok", 1)
    assert values(cluster) == ["first", "a"]


def test_without_idempotence_the_same_retry_writes_twice() -> None:
    cluster, producer = started(ProducerConfig(idempotent=False))
    cluster.drop_responses(producer)
    cluster.send(producer, "a")
    cluster.run_for(100)
    cluster.recover()
    assert values(cluster) == ["first", "a", "a"]


def test_without_retries_a_lost_request_and_a_lost_response_are_both_info() -> None:
    config = ProducerConfig(idempotent=False, retries=False)
    cluster, producer = started(config)
    cluster.drop_responses(producer)
    cluster.send(producer, "written")
    cluster.run_for(100)
    for broker in cluster.broker_ids:
        cluster.split_one_way(producer, NodeId(broker))
    cluster.send(producer, "not written")
    cluster.run_for(1_000)
    assert sends(cluster)["written"] == sends(cluster)["not written"] == ("info", None)
    cluster.recover()
    assert values(cluster) == ["first", "written"]


def test_acks_none_is_never_acknowledged() -> None:
    cluster = Cluster()
    producer = cluster.add_producer(ProducerConfig(acks=ACKS_NONE, idempotent=False, retries=False))
    cluster.send(producer, "a")
    cluster.run_for(1_000)
    assert sends(cluster)["a"] == ("info", None)
    assert values(cluster) == ["a"]


def test_an_isr_below_the_minimum_gives_up_availability_not_durability() -> None:
    cluster, producer = started(min_isr=3)
    cluster.crash(cluster.broker_ids[2])
    cluster.run_for(1_000)
    cluster.send(producer, "waits")
    cluster.run_for(3_000)
    assert sends(cluster)["waits"] == ("info", None)
    cluster.recover()
    assert sends(cluster)["waits"] == ("ok", 1)


def test_when_all_brokers_are_down_only_the_last_in_sync_replica_may_lead() -> None:
    cluster, producer = started(min_isr=1)
    last = cluster.broker_ids[1]
    for broker in cluster.broker_ids:
        if broker != last:
            cluster.crash(broker)
    cluster.send(producer, "alone")
    cluster.run_for(2_000)
    assert sends(cluster)["alone"] == ("ok", 1)
    cluster.crash(last)
    for broker in cluster.broker_ids:
        if broker != last:
            cluster.restart(broker)
    cluster.run_for(3_000)
    assert cluster.leader() == -1
    cluster.recover()
    assert values(cluster) == ["first", "alone"]


def test_a_power_loss_removes_unflushed_records_and_the_other_replicas_have_them() -> None:
    cluster, producer = started()
    cluster.run_for(1_000)  # the first record is flushed
    cluster.send(producer, "a", "b")
    cluster.run_for(20)
    leader = cluster.leader()
    assert cluster.log(leader).end_offset == 3
    cluster.lose_power(leader)
    assert cluster.log(leader).end_offset == 1
    cluster.recover()
    assert values(cluster) == ["first", "a", "b"]


def test_a_power_loss_of_all_brokers_loses_acknowledged_records() -> None:
    """An acknowledged record is lost if all brokers lose power before they flush it.

    Kafka permits this loss, because no in-sync replica keeps its whole log.
    """
    cluster, producer = started()
    cluster.run_for(1_000)
    cluster.send(producer, "a")
    cluster.run_for(20)
    assert sends(cluster)["a"] == ("ok", 1)
    for broker in cluster.broker_ids:
        cluster.lose_power(broker)
    cluster.recover()
    assert values(cluster) == ["first"]


@pytest.mark.parametrize(
    ("config", "flush_check_ms", "kept"),
    [
        (LogConfig(), LARGEST_MS, []),
        (LogConfig(flush_messages=2), LARGEST_MS, ["a", "b"]),
        (LogConfig(flush_messages=4), LARGEST_MS, []),
        (LogConfig(flush_ms=50), LARGEST_MS, []),  # as in Kafka, nothing checks whether it is due
        (LogConfig(flush_ms=50), 20, ["a", "b", "c"]),
        (LogConfig(flush_ms=10_000), 20, []),
        (LogConfig(), 20, ["a", "b", "c"]),
    ],
)
def test_a_power_loss_of_all_brokers_keeps_what_the_settings_flush(
    config: LogConfig, flush_check_ms: int, kept: list[str]
) -> None:
    broker_settings = replace(QUICK, checkpoint_ms=60_000, flush_check_ms=flush_check_ms)
    cluster = Cluster(broker_settings=broker_settings, brokers=1, log_config=config)
    cluster.run_for(1_000)
    producer = cluster.add_producer()
    for value in ("a", "b", "c"):
        cluster.send(producer, value)
        cluster.run_for(5)
    cluster.run_for(100)
    cluster.lose_power(cluster.broker_ids[0])
    cluster.recover()
    assert values(cluster) == kept


def test_faults_of_no_broker_do_nothing() -> None:
    cluster, _ = started()
    before = cluster.trace.digest()
    cluster.crash(NO_BROKER)
    cluster.lose_power(NO_BROKER)
    cluster.isolate(NO_BROKER)
    assert cluster.trace.digest() == before
    assert cluster.in_sync() == cluster.broker_ids
    assert not cluster.is_split()


def test_replicas_are_identical_up_to_the_high_watermark() -> None:
    cluster, producer = started()
    for number in range(4):
        cluster.send(producer, f"v{number}")
        cluster.run_for(15)
        cluster.crash(cluster.leader())
        cluster.run_for(700)
        for broker in cluster.broker_ids:
            cluster.restart(broker)
        cluster.run_for(700)
    cluster.recover()
    logs = [cluster.log(broker) for broker in cluster.broker_ids]
    assert len({tuple(batch.data for batch in log.batches()) for log in logs}) == 1


def test_a_cluster_that_cannot_recover_raises_no_progress() -> None:
    cluster, _ = started()
    cluster.crash(cluster.leader())
    with pytest.raises(NoProgress, match="not within 0 ms"):
        cluster.recover(within_ms=0)


def test_polls_and_end_offsets_of_a_consumer_never_decrease() -> None:
    cluster, producer = started()
    cluster.add_consumer(end_offset_every=2)
    for number in range(6):
        cluster.send(producer, f"v{number}")
        cluster.run_for(60)
    cluster.recover()
    polls = [did for did in micro(cluster.history()) if isinstance(did, Poll)]
    assert [poll.value for poll in polls] == ["first", *(f"v{number}" for number in range(6))]
    ends = [did.offset for did in micro(cluster.history()) if isinstance(did, EndOffset)]
    assert ends == sorted(ends)
    assert len(set(ends)) > 2


def micro(history: tuple[Operation, ...]) -> list[object]:
    return [did for operation in history for did in operation.did]


def test_processes_have_one_operation_open_and_times_are_distinct() -> None:
    cluster, producer = started()
    cluster.send(producer, *(f"v{number}" for number in range(20)))
    cluster.recover()
    history = [operation for operation in cluster.history() if operation.f == "send"]
    assert len({operation.invoked_ns for operation in history}) == len(history)
    assert len({operation.process for operation in history}) > 1  # several in flight
    open_until: dict[int, int] = {}
    for operation in sorted(history, key=lambda operation: operation.invoked_ns):
        assert open_until.get(operation.process, -1) < operation.invoked_ns
        assert operation.completed_ns is not None
        open_until[operation.process] = operation.completed_ns
