"""Simulated applications with transactional producers: their histories and their logs."""

from __future__ import annotations

import pytest

from model.histories import CommitOffset, Operation, Poll, Send
from model.vocabulary import Offset, TopicPartition
from properties.anomalies.catalogue import CATALOGUE
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.programs import Application, Pause, Program
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.transactional_producer import TransactionalProducer

V1, V2 = TransactionVersion.V1, TransactionVersion.V2
HERE, THERE = TopicPartition("output", 0), TopicPartition("output", 1)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(min_insync_replicas=2)
    cluster.create_topic(CreateTopic(topic="output", topic_partitions=2, replication_factor=3))
    return cluster


def producer(
    app: Application, version: TransactionVersion, **options: int
) -> TransactionalProducer:
    return TransactionalProducer(
        app=app,
        brokers=BrokerClient(app=app),
        transactional_id="t",
        version=version,
        **options,  # type: ignore[arg-type]
    )


def read(cluster: Cluster, place: TopicPartition) -> list[str]:
    def reads(app: Application) -> Program:
        reader = Reader(app=app, brokers=BrokerClient(app=app), topic_partition=place)
        yield from reader.read_to_end()

    before = len(cluster.history())
    program = cluster.run_program(reads)
    assert cluster.run_until(lambda: cluster.is_over(program), 5_000)
    return [did.value for o in cluster.history()[before:] for did in o.did if isinstance(did, Poll)]


def summary(operation: Operation) -> tuple[str, str, str | None]:
    return operation.f, operation.outcome, operation.error


def anomalies(cluster: Cluster) -> set[str]:
    return {one.id for one in CATALOGUE if one.find(cluster.history())}


@pytest.mark.parametrize("version", [V1, V2])
def test_committed_records_are_read_and_aborted_ones_are_not(
    cluster: Cluster, version: TransactionVersion
) -> None:
    def commits_and_aborts(app: Application) -> Program:
        one = producer(app, version)
        yield from one.init_transactions()
        for name in ("a", "b", "c"):
            one.begin()
            yield from one.send(HERE, f"{name}0")
            yield from one.send(THERE, f"{name}1")
            yield from one.abort() if name == "b" else one.commit()

    program = cluster.run_program(commits_and_aborts)
    assert cluster.run_until(lambda: cluster.is_over(program), 3_000)
    init, *transactions = cluster.history()
    assert summary(init) == ("init_producer", "ok", None)
    assert [summary(txn) for txn in transactions] == [
        ("txn", "ok", None),
        ("txn", "fail", "ABORTED"),
        ("txn", "ok", None),
    ]
    assert transactions[2].did == (Send("output-0", "c0", 4), Send("output-1", "c1", 4))
    assert {txn.transactional_id for txn in transactions} == {"t"}
    assert all(
        txn.invoked_ns < txn.end_asked_ns < txn.completed_ns
        for txn in transactions
        if txn.end_asked_ns is not None and txn.completed_ns is not None
    )
    assert (read(cluster, HERE), read(cluster, THERE)) == (["a0", "c0"], ["a1", "c1"])
    assert anomalies(cluster) == set()


@pytest.mark.parametrize("version", [V1, V2])
def test_a_step_of_a_pipeline_is_one_operation(
    cluster: Cluster, version: TransactionVersion
) -> None:
    def steps(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        feeding = TransactionalProducer(app=app, brokers=brokers, transactional_id="feed")
        yield from feeding.init_transactions()
        feeding.begin()
        yield from feeding.send(TOPIC_PARTITION, "x")
        yield from feeding.commit()
        one = producer(app, version)
        yield from one.init_transactions()
        reader = Reader(app=app, brokers=brokers, topic_partition=TOPIC_PARTITION)
        one.begin(group="g")
        while not (seen := (yield from reader.poll_in_transaction())):
            pass
        yield from one.send(HERE, f"{seen[0].value}'")
        yield from one.send_offsets("g", {TOPIC_PARTITION: reader.position})
        yield from one.commit()

    program = cluster.run_program(steps)
    assert cluster.run_until(lambda: cluster.is_over(program), 3_000)
    step = cluster.history()[-1]
    assert (step.outcome, step.group, step.isolation) == ("ok", "g", "read_committed")
    assert step.did == (
        Poll("orders-0", 0, "x"),
        Send("output-0", "x'", 0),
        CommitOffset("orders-0", 2),  # after the marker
    )
    assert read(cluster, HERE) == ["x'"]
    assert anomalies(cluster) == set()


@pytest.mark.parametrize("version", [V1, V2])
def test_a_replaced_instance_is_fenced_and_its_open_transaction_aborted(
    cluster: Cluster, version: TransactionVersion
) -> None:
    def is_slow(app: Application) -> Program:
        one = producer(app, version)
        yield from one.init_transactions()
        one.begin()
        yield from one.send(HERE, "old")
        yield Pause(1_000)
        yield from one.send(THERE, "late")
        assert (yield from one.commit()) == "fail"

    def replaces(app: Application) -> Program:
        one = producer(app, version)
        yield from one.init_transactions()
        one.begin()
        yield from one.send(HERE, "new")
        yield from one.commit()

    slow = cluster.run_program(is_slow)
    cluster.run_for(500)
    cluster.run_program(replaces)
    assert cluster.run_until(lambda: cluster.is_over(slow), 3_000)
    made, replaced, committed, zombie = cluster.history()
    assert [o.f for o in (made, replaced)] == ["init_producer"] * 2
    assert committed.outcome == "ok"
    assert zombie.outcome == "fail"
    assert zombie.error in {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
    assert (read(cluster, HERE), read(cluster, THERE)) == (["new"], [])
    assert anomalies(cluster) == set()


@pytest.mark.parametrize("version", [V1, V2])
def test_transactions_continue_while_leaders_and_coordinators_die(
    cluster: Cluster, version: TransactionVersion
) -> None:
    def forever(app: Application) -> Program:
        one = producer(app, version)
        yield from one.init_transactions()
        for number in range(200):
            one.begin()
            yield from one.send(HERE, f"h{number}")
            yield from one.send(THERE, f"t{number}")
            yield from one.commit()
            if one.over is not None:
                one = producer(app, version)
                yield from one.init_transactions()

    program = cluster.run_program(forever)
    for broker in cluster.broker_ids:
        cluster.run_for(700)
        cluster.crash(broker)
        cluster.run_for(1_500)
        cluster.restart(broker)
        cluster.run_for(500)
    cluster.kill(program)
    cluster.recover()
    cluster.run_for(2_000)
    committed = [o for o in cluster.history() if o.f == "txn" and o.outcome == "ok"]
    here, there = read(cluster, HERE), read(cluster, THERE)
    assert len(committed) > 20
    assert [v[1:] for v in here] == [v[1:] for v in there]
    assert anomalies(cluster) == set()


def test_a_commit_without_a_response_has_an_unknown_outcome(cluster: Cluster) -> None:
    def impatient(app: Application) -> Program:
        one = producer(app, V2, attempts=1)
        yield from one.init_transactions()
        one.begin()
        yield from one.send(HERE, "a")
        yield Pause(100)
        assert (yield from one.commit()) == "info"
        assert one.over is not None
        again = producer(app, V2)
        yield from again.init_transactions()

    program = cluster.run_program(impatient)
    cluster.run_until(lambda: any(o.f == "txn" for o in cluster.history()), 2_000)
    cluster.run_for(60)
    cluster.drop_responses(program)
    assert cluster.run_until(lambda: cluster.is_over(program), 3_000)
    assert [summary(o) for o in cluster.history()] == [
        ("init_producer", "ok", None),
        ("txn", "info", "NETWORK_EXCEPTION"),
        ("init_producer", "ok", None),
    ]
    first, _, second = cluster.history()
    assert first.process < second.process
    assert read(cluster, HERE) == ["a"]  # it had been decided


def test_an_empty_transaction_sends_no_request(cluster: Cluster) -> None:
    def empty(app: Application) -> Program:
        one = producer(app, V2)
        yield from one.init_transactions()
        epoch = one.producer_epoch
        one.begin()
        assert (yield from one.commit()) == "ok"
        one.begin()
        assert (yield from one.abort()) == "fail"
        assert one.producer_epoch == epoch
        one.begin(group="g")
        assert (yield from one.send_offsets("g", {TOPIC_PARTITION: Offset(3)}))
        assert (yield from one.commit()) == "ok"
        assert one.producer_epoch == epoch + 1

    program = cluster.run_program(empty)
    assert cluster.run_until(lambda: cluster.is_over(program), 3_000)
