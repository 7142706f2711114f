"""Faults that wait for a request, kinds of crashes, and the data that a crash leaves on disk."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.histories import Send
from model.vocabulary import BrokerId, LeaderEpoch, Offset, ProducerEpoch, ProducerId
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, stamped
from reference_impl.log.segment import Batch
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.protocol.transactions import AddPartitionsToTxn, FindCoordinator
from reference_impl.simulation.armed_faults import ArmedFault
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.disks import after_power_loss
from reference_impl.simulation.faults import (
    Crash,
    Die,
    Hold,
    Lose,
    On,
    PowerLoss,
    ReplaceDisk,
    Restart,
    ShutDown,
)
from reference_impl.simulation.network import Conditions, Link
from reference_impl.simulation.producer_config import ProducerConfig

ONCE = ProducerConfig(idempotent=False, retries=False)


def started(config: ProducerConfig | None = None) -> tuple[Cluster, NodeId]:
    cluster = Cluster(min_insync_replicas=2)
    producer = cluster.add_producer(config)
    cluster.send(producer, "first")
    assert cluster.run_until(lambda: cluster.producer(producer).idle, 500)
    return cluster, producer


def outcomes(cluster: Cluster) -> dict[str, str]:
    return {
        did.value: operation.outcome
        for operation in cluster.history()
        for did in operation.did
        if isinstance(did, Send)
    }


def log(cluster: Cluster) -> list[str]:
    return [value for _, value in cluster.read_all()]


# ---------------------------------------------------------------- on a request


def test_a_request_lost_before_it_is_applied_leaves_nothing_and_after_it_the_record() -> None:
    for fault, written in ((On(moment="before"), False), (On(moment="after"), True)):
        cluster, producer = started(ONCE)
        cluster.apply(replace(fault, api="Produce", does=Lose()))
        cluster.send(producer, "a")
        cluster.run_for(100)
        cluster.recover()
        assert outcomes(cluster)["a"] == "info"
        assert ("a" in log(cluster)) is written


def test_a_fault_applies_to_its_occurrence_and_count() -> None:
    cluster, producer = started(ONCE)
    cluster.apply(On(api="Produce", occurrence=2, count=2, moment="before"))
    for value in "abcd":
        cluster.send(producer, value)
        cluster.run_until(lambda: cluster.producer(producer).idle, 500)
    outcome_of = outcomes(cluster)
    assert [outcome_of[value] for value in "abcd"] == ["ok", "info", "info", "ok"]


def test_a_held_response_arrives_later_or_times_out() -> None:
    for for_ms, outcome in ((100, "ok"), (1_000, "info")):
        cluster, producer = started(ONCE)
        cluster.apply(On(api="Produce", does=Hold(for_ms)))
        cluster.send(producer, "a")
        cluster.run_for(90)
        assert outcomes(cluster)["a"] == "info"  # not yet
        cluster.recover()
        assert outcomes(cluster)["a"] == outcome
        assert log(cluster) == ["first", "a"]


def test_a_leader_that_dies_after_an_append_has_it_on_disk_and_sent_nothing() -> None:
    cluster, producer = started(ONCE)
    leader = cluster.leader()
    cluster.apply(On(api="Produce", moment="after", does=Die()))
    cluster.send(producer, "a")
    cluster.run_for(200)
    assert not cluster.is_up(leader)
    assert cluster.log(leader).end_offset == 2
    assert {cluster.log(b).end_offset for b in cluster.broker_ids if b != leader} == {1}


def test_a_leader_that_dies_before_an_append_lacks_it() -> None:
    cluster, producer = started(ONCE)
    leader = cluster.leader()
    cluster.apply(On(api="Produce", moment="before", does=Die(kept_percent=100)))
    cluster.send(producer, "a")
    cluster.run_for(200)
    assert not cluster.is_up(leader)
    assert cluster.log(leader).end_offset == 1


def test_a_fault_matches_by_api_nodes_and_partition() -> None:
    link = Link(NodeId(7), NodeId(1))
    request = AddPartitionsToTxn(
        transactional_id="t",
        producer_id=ProducerId(1),
        producer_epoch=ProducerEpoch(0),
        topic_partitions=(TOPIC_PARTITION,),
    )
    for fault, takes in (
        (On(), True),
        (On(api="AddPartitionsToTxn", topic="orders", partition=0), True),
        (On(topic="orders", partition=1), False),
        (On(topic="output"), False),
        (On(api="Produce"), False),
        (On(source=NodeId(7), target=NodeId(1)), True),
        (On(target=NodeId(2)), False),
    ):
        assert ArmedFault(fault).applies_to(link, request) is takes, fault
    of_no_partition = FindCoordinator(key="t", is_transactional=True)
    assert not ArmedFault(On(topic="orders")).applies_to(link, of_no_partition)


# ---------------------------------------------------------------- ways to end


def test_a_leader_that_is_shut_down_hands_over_and_restarts_clean() -> None:
    cluster, producer = started()
    leader = cluster.leader()
    cluster.apply(ShutDown(leader))
    cluster.run_for(50)  # long before a session would have timed out
    assert not cluster.is_up(leader)
    assert cluster.leader() not in {leader, NO_BROKER}
    assert cluster.log(leader).high_watermark == 1  # it was written
    cluster.send(producer, "a")
    cluster.apply(Restart(leader))
    cluster.recover()
    assert log(cluster) == ["first", "a"]


def test_a_broker_that_is_still_shutting_down_starts_again_in_a_recovery() -> None:
    cluster = Cluster(min_insync_replicas=2)
    leader = cluster.leader()
    cluster.shut_down(leader)
    assert cluster.run_until(lambda: leader not in cluster.in_sync(), 500)
    assert cluster.is_up(leader)  # it has not stopped yet
    cluster.recover(5_000)
    assert cluster.is_up(leader)
    assert set(cluster.in_sync()) == set(cluster.broker_ids)


@pytest.mark.parametrize(("end", "leads"), [(ShutDown, True), (Crash, False)])
def test_an_eligible_replica_that_was_shut_down_may_lead_and_one_that_crashed_may_not(
    end: type[ShutDown | Crash], leads: bool
) -> None:
    """A replica of the ELR may become leader after a clean shutdown, but not after a crash.

    After a crash the replica may have lost the end of its log (KIP-966).
    """
    cluster, _ = started()
    last, first, second = sorted(cluster.broker_ids, key=lambda b: b != cluster.leader())
    for fault in (Crash(first), end(second), Crash(last), Restart(second)):
        cluster.apply(fault)
        cluster.run_for(1_000)
    assert cluster.leader() == (second if leads else NO_BROKER)
    cluster.recover()
    assert log(cluster) == ["first"]


def test_a_broker_with_a_new_disk_fetches_everything_again() -> None:
    cluster, producer = started()
    follower = next(b for b in cluster.broker_ids if b != cluster.leader())
    cluster.apply(ReplaceDisk(follower))
    assert not cluster.is_up(follower)
    cluster.send(producer, "a")
    cluster.recover()
    assert cluster.log(follower).end_offset == 2
    assert log(cluster) == ["first", "a"]


@pytest.mark.parametrize("seed", range(4))
def test_reordered_messages_break_no_guarantee(seed: int) -> None:
    cluster = Cluster(seed=seed, conditions=Conditions(jitter_ms=20, overtaking=40))
    producer = cluster.add_producer()
    values = [f"v{number}" for number in range(30)]
    cluster.send(producer, *values)
    cluster.recover()
    assert log(cluster) == values


# ---------------------------------------------------------------- disks


def written(sizes: list[int], flushed: int) -> PartitionLog:
    """Returns a log with one record of each size; the first `flushed` records are on disk."""
    found = PartitionLog()
    for number, size in enumerate(sizes):
        if number == flushed:
            found = found.on_disk()
        batch = encode([Record(value=b"x" * size)])
        placed = stamped(batch, base_offset=Offset(number), leader_epoch=LeaderEpoch(0))
        found = found.append(Batch.of(placed))
    return found


LOGS = st.tuples(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 8)).map(
    lambda drawn: written(drawn[0], min(drawn[1], len(drawn[0]) - 1))
)


@given(LOGS, st.integers(0, 100))
def test_only_whole_unflushed_batches_remain(before: PartitionLog, kept_percent: int) -> None:
    after = after_power_loss(before, kept_percent=kept_percent, garbled=False)
    tail = [batch.data for batch in before.batches(before.flushed)]
    room = sum(map(len, tail)) * kept_percent // 100
    whole = sum(sum(map(len, tail[: n + 1])) <= room for n in range(len(tail)))
    assert after.end_offset == before.flushed + whole


@given(LOGS, st.integers(0, 100))
def test_corrupted_batches_are_not_read_and_flushed_ones_always_are(
    before: PartitionLog, kept_percent: int
) -> None:
    whole = after_power_loss(before, kept_percent=kept_percent, garbled=False)
    garbled = after_power_loss(before, kept_percent=kept_percent, garbled=True)
    assert before.flushed <= garbled.end_offset <= whole.end_offset
    kept = [batch.data for batch in garbled.batches()]
    assert kept == [batch.data for batch in before.batches()][: len(kept)]
    if kept_percent == 100 and before.end_offset > before.flushed:
        assert garbled.end_offset == before.end_offset - 1


def test_power_losses_tear_logs_and_lose_no_replicated_record() -> None:
    cluster, producer = started()
    for number in range(6):
        cluster.send(producer, f"v{number}")
        cluster.run_for(30)
        victim = BrokerId(1 + number % 3)
        cluster.apply(PowerLoss(victim, kept_percent=37, garbled=number % 2 == 0))
        cluster.run_for(700)
        cluster.apply(Restart(victim))
        cluster.run_for(1_500)
    cluster.recover()
    assert log(cluster) == ["first", *(f"v{number}" for number in range(6))]
