"""Each seeded bug of the broker causes its anomalies; a correct broker causes none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from model.histories import History
from model.vocabulary import BrokerId
from properties.anomalies.catalogue import CATALOGUE
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.seeded_bugs import SEEDED_BUGS
from reference_impl.protocol.messages import ACKS_ALL
from reference_impl.simulation.client_libraries import JAVA
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.runs import Scenario, draw_faults, run

ANOMALIES = {anomaly.id: anomaly for anomaly in CATALOGUE}
BROKERS = tuple(map(BrokerId, (1, 2, 3)))
WITHOUT_RETRIES = ProducerConfig(acks=ACKS_ALL, idempotent=False, retries=False)


def under_faults(seed: int) -> Callable[[Bugs], History]:
    def history(bugs: Bugs) -> History:
        plan = draw_faults(seed, BROKERS, count=4, every_ms=600)
        return run(Scenario(seed=seed, sends=60, send_every_ms=40, faults=plan, bugs=bugs)).history

    return history


def two_leaders_die_in_a_row(bugs: Bugs) -> History:
    """Returns the history of a run in which two leaders crash, one after the other.

    With the seeded bug TRUNCATE_TO_HIGH_WATERMARK the last replica truncates replicated records.
    """
    cluster = Cluster(min_insync_replicas=2, bugs=bugs)
    one, other = cluster.add_producer(), cluster.add_producer()
    cluster.send(one, "first")
    assert cluster.run_until(lambda: cluster.producer(one).idle, 500)
    first_epoch = cluster.leader_epoch()
    cluster.crash(cluster.leader())
    cluster.run_until(lambda: cluster.leader_epoch() > first_epoch, 600)
    cluster.crash(cluster.leader())
    cluster.recover()
    cluster.send(other, "second", "third")
    cluster.recover()
    cluster.read_all()
    return cluster.history()


def an_isolated_leader_continues(bugs: Bugs) -> History:
    """Returns the history of a run in which a leader is isolated from the other replicas.

    A correct leader does not acknowledge or return records that are not replicated.
    """
    cluster = Cluster(min_insync_replicas=2, bugs=bugs)
    one, other = cluster.add_producer(WITHOUT_RETRIES), cluster.add_producer()
    cluster.add_consumer()
    cluster.run_for(50)
    leader = cluster.leader()
    cluster.isolate(leader)
    cluster.send(one, "first")
    cluster.run_for(60)
    cluster.crash(leader)
    cluster.run_for(1_000)
    cluster.send(other, "second", "third")
    cluster.recover()
    cluster.read_all()
    return cluster.history()


def brokers_restart_before_the_retries(bugs: Bugs) -> History:
    """Returns the history of a run in which all brokers restart before two batches are sent again.

    Both batches were appended before, but their responses were lost.
    """
    cluster = Cluster(min_insync_replicas=2, bugs=bugs)
    producer = cluster.add_producer(ProducerConfig(library=JAVA))
    cluster.add_consumer()
    cluster.run_for(50)
    cluster.send(producer, "first")
    cluster.run_for(100)
    cluster.drop_responses(producer, 2)
    cluster.send(producer, "second", "third")
    cluster.run_for(10)
    for broker in cluster.broker_ids:
        cluster.crash(broker)
    cluster.recover()
    cluster.read_all()
    return cluster.history()


def a_partition_leaves_a_broker_and_returns(bugs: Bugs) -> History:
    """Returns the history of a run in which a removed replica becomes the only replica.

    With the seeded bug ADDED_REPLICA_COUNTS, this replica leads before it has copied a record.
    """
    cluster = Cluster(bugs=bugs)
    one, other = cluster.add_producer(), cluster.add_producer()
    cluster.send(one, "first")
    assert cluster.run_until(lambda: cluster.producer(one).idle, 500)
    returns, *others = cluster.broker_ids
    for replicas in (tuple(others), (returns,)):
        cluster.reassign(TOPIC_PARTITION, replicas)
        cluster.run_until(lambda: cluster.all_moved() and cluster.is_led(), 1_000)
    cluster.send(other, "second", "third")
    cluster.recover()
    assert cluster.replicas() == (returns,)
    cluster.read_all()
    return cluster.history()


SHOWN_BY: dict[Bug, Callable[[Bugs], History]] = {
    Bug.NO_DEDUP: under_faults(0),
    Bug.DEDUP_LOST_ON_FAILOVER: under_faults(4),
    Bug.SNAPSHOT_KEEPS_NEWEST: brokers_restart_before_the_retries,
    Bug.ADDED_REPLICA_COUNTS: a_partition_leaves_a_broker_and_returns,
    Bug.TRUNCATE_TO_HIGH_WATERMARK: two_leaders_die_in_a_row,
    Bug.ACK_BEFORE_REPLICATION: an_isolated_leader_continues,
    Bug.READ_ABOVE_HIGH_WATERMARK: an_isolated_leader_continues,
    Bug.STALE_END_OFFSET: under_faults(0),
    Bug.ZERO_OFFSET_ACK: under_faults(0),
    Bug.REORDERED_ACK_OFFSET: under_faults(0),
    Bug.LOST_APPEND: under_faults(0),
}


def anomalies(history: History) -> set[str]:
    return {name for name, anomaly in ANOMALIES.items() if anomaly.find(history)}


OF_THE_SUITE = [row for row in SEEDED_BUGS if "suite replication" in row.caught_by]


@pytest.mark.parametrize("row", OF_THE_SUITE, ids=lambda row: row.name)
def test_a_bug_shows_its_anomalies_and_a_correct_broker_shows_none(row: object) -> None:
    seeded = next(it for it in SEEDED_BUGS if it is row)
    scenario = SHOWN_BY[seeded.bug]
    expected = {name for name in seeded.breaks if name in ANOMALIES}
    assert expected
    assert expected <= anomalies(scenario(frozenset({seeded.bug})))
    assert anomalies(scenario(NO_BUGS)) == set()
