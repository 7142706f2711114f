"""Recordings of transactional pipelines on librdkafka's mock cluster.

The mock cluster answers every request of a transaction, but it implements no transactions. Aborted
records stay visible, transactional offsets are not committed, and no producer is fenced. The
workload must not wait for ever on such a cluster, and its history must contain anomalies.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from checkers.client_config import ClientConfig
from checkers.histories.io.recorded import operations
from checkers.record import outcomes, pipeline, transactions
from checkers.record.clients import Clients, UnreachableCluster
from checkers.record.options import RecordOptions
from checkers.record.processes import Shared, Topic
from checkers.record.recording import record
from checkers.record.store import Described, HistoryWriter
from model.faults import InputFault
from model.histories import (
    Assigned,
    CommitOffset,
    FetchOffset,
    History,
    Operation,
    Outcome,
    Poll,
    Send,
)
from properties.anomalies.assumptions import ASSUMPTIONS
from properties.anomalies.groups.input_processed_twice import inputs_processed_twice
from properties.anomalies.log.aborted_read import aborted_reads
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving

SOURCE, TARGET = Topic("t-in", 4), Topic("t-out", 4)  # four are what that cluster gives a topic


@contextmanager
def mock_cluster() -> Generator[str]:
    host = Producer({"bootstrap.servers": "its own", "test.mock.num.brokers": 3, "log_level": 0})
    brokers = host.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    del host


@pytest.fixture
def servers() -> Iterator[str]:
    """Starts a new cluster for each test, so that no pipeline reads records of another test."""
    with mock_cluster() as servers:
        yield servers


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with mock_cluster() as servers:
        yield recorded(servers, tmp_path_factory)


def recorded(servers: str, tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("transactions") / "history"
    timeouts = pytest.MonkeyPatch()
    timeouts.setattr(transactions, "DRAINED_WITHIN_S", 6)  # the group never comes to an end there
    often = {"none": 4, "abort": 2, "replace before": 1, "replace after": 1}
    timeouts.setattr(pipeline, "MISHAPS", often)
    timeouts.setattr(pipeline, "RECORDS_AT_ONCE", 2)  # many small steps
    options = RecordOptions(
        folder=folder,
        bootstrap_servers=servers,
        workload="transactions",
        sends=200,
        pause_s=0.1,
        pipelines=1,  # that cluster takes seconds to assign partitions again
    )
    clients = Clients.connect(servers, ClientConfig())
    for topic in (SOURCE, TARGET):
        clients.admin.list_topics(topic.name, timeout=10)  # makes it
    with HistoryWriter(
        folder, Described(workload="transactions", clients={}, settings={}, seed=0)
    ) as writer:
        transactions.run(options, Shared(writer), clients, SOURCE, TARGET)
    timeouts.undo()
    return operations(folder)


def those(history: History, f: str, *ended: Outcome) -> list[Operation]:
    return [op for op in history if op.f == f and (not ended or op.outcome in ended)]


def test_the_history_keeps_the_assumptions_of_an_analysis(history: History) -> None:
    assert not any(assumption.find(history) for assumption in ASSUMPTIONS)
    assert {op.f for op in history} == {
        "send", "txn", "poll", "assign", "subscribe", "init_producer", "fetch_offset",
        "end_offset", "start_offset", "commit_offset",
    }  # fmt: skip


def test_a_step_sends_one_record_for_each_that_it_polled_and_commits_behind_them(
    history: History,
) -> None:
    steps = [op for op in those(history, "txn", "ok") if op.did]
    assert len(steps) > 10
    for step in steps:
        polls = [micro for micro in step.did if isinstance(micro, Poll)]
        sends = [micro for micro in step.did if isinstance(micro, Send)]
        commits = [micro for micro in step.did if isinstance(micro, CommitOffset)]
        assert [send.value.split(":")[0] for send in sends] == [poll.value for poll in polls]
        assert all(send.offset is not None for send in sends)
        ends = {p.key: p.offset + 1 for p in polls if p.offset is not None}
        assert {c.key: c.offset for c in commits} == ends
        assert step.end_asked_ns is not None
        assert step.completed_ns is not None
        assert step.invoked_ns < step.end_asked_ns <= step.completed_ns
        assert (step.group, step.isolation) == ("t-out-group", "read_committed")


def test_every_attempt_sends_values_of_its_own(history: History) -> None:
    sent = Counter(
        micro.value for op in those(history, "txn") for micro in op.did if isinstance(micro, Send)
    )
    assert max(sent.values()) == 1


def test_some_steps_are_aborted_and_some_producers_are_replaced(
    history: History,
) -> None:
    errors = Counter(op.error for op in those(history, "txn", "fail"))
    assert errors["the application aborted it"] > 0
    inits = Counter(op.transactional_id for op in those(history, "init_producer"))
    assert set(inits) == {"t-out-0"}
    assert inits["t-out-0"] > 1


def test_after_a_step_that_did_not_commit_the_groups_offsets_are_fetched(
    history: History,
) -> None:
    for op in those(history, "txn", "fail"):
        later = (o for o in history if o.invoked_ns > op.invoked_ns)
        mine = (
            o for o in later if o.transactional_id == op.transactional_id or o.process == op.process
        )
        following = next((o.f for o in mine), "none: it was the last")
        assert following in {"fetch_offset", "init_producer", "none: it was the last"}


def test_the_offsets_of_the_group_are_fetched_all_the_time(history: History) -> None:
    fetched = {op.did for op in those(history, "fetch_offset", "ok")}
    # the cluster forgets what transactions commit
    assert tuple(FetchOffset(key, 0) for key in SOURCE.keys) in fetched


def test_the_group_has_committed_offsets_before_it_has_members(history: History) -> None:
    (committed,) = those(history, "commit_offset", "ok")
    assert committed.did == tuple(CommitOffset(key, 0) for key in SOURCE.keys)
    assert committed.group == "t-out-group"
    assert committed.completed_ns is not None
    assert all(committed.completed_ns < op.invoked_ns for op in those(history, "subscribe"))


def test_members_record_their_subscription_and_readers_read_at_both_levels(
    history: History,
) -> None:
    (subscribed,) = {op.did for op in those(history, "subscribe")}
    assert subscribed == tuple(Assigned(key) for key in SOURCE.keys)
    levels = {"read_committed", "read_uncommitted"}
    assert {op.isolation for op in those(history, "poll")} == levels
    assert {op.isolation for op in those(history, "end_offset")} == levels


def test_a_cluster_that_returns_aborted_records_and_loses_offsets_has_anomalies(
    history: History,
) -> None:
    assert aborted_reads(history)
    assert inputs_processed_twice(history)


# ---------------------------------------------------------------- how a transaction ended


@pytest.mark.parametrize(
    ("code", "requested", "replaced", "ended"),
    [
        (KafkaError._TIMED_OUT, False, False, "fail"),  # no commit was requested
        (KafkaError._TIMED_OUT, True, False, "info"),
        (KafkaError._FENCED, True, False, "info"),  # an earlier attempt may have been applied
        (KafkaError._FENCED, True, True, "fail"),  # it was fenced before its request
        (KafkaError.INVALID_PRODUCER_EPOCH, True, True, "fail"),
        (KafkaError._TIMED_OUT, True, True, "info"),
    ],
)
def test_a_transaction_failed_only_if_nothing_can_have_committed_it(
    code: int, requested: bool, replaced: bool, ended: Outcome
) -> None:
    error: Any = KafkaError(code)
    assert outcomes.of_transaction(error, requested=requested, replaced=replaced) == ended


class Stubborn:
    def __init__(self, *, refusals: int, code: int, retriable: bool) -> None:
        self.left, self.code, self.retriable = refusals, code, retriable

    def __call__(self) -> None:
        self.left -= 1
        if self.left >= 0:
            raise KafkaException(KafkaError(self.code, "not yet", False, self.retriable, False))


def test_a_call_is_repeated_only_while_its_error_is_retriable() -> None:
    code = KafkaError.CONCURRENT_TRANSACTIONS
    may, must_not = (Stubborn(refusals=2, code=code, retriable=r) for r in (True, False))

    assert pipeline.with_retries(may) is None
    assert pipeline.with_retries(must_not).code() == code
    assert (may.left, must_not.left) == (-1, 1)


def test_a_refused_call_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "STEP_S", 0.3)
    always = Stubborn(refusals=1_000, code=KafkaError._CONFLICT, retriable=True)

    assert pipeline.with_retries(always).code() == KafkaError._CONFLICT
    assert always.left > 990


def test_a_call_that_never_returns_is_a_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "STEP_S", 0.1)
    monkeypatch.setattr(pipeline, "CALL_S", 0.1)
    never = threading.Event()

    error = pipeline._with_timeout(never.wait)

    assert error.code() == KafkaError._TIMED_OUT
    assert not error.fatal()
    never.set()
    assert pipeline._with_timeout(never.wait) is None


class Deaf:
    """A consumer that gets no response when it requests its group's committed offsets."""

    def __init__(self) -> None:
        self.asked = 0
        self.closed = False

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(SOURCE.name, 0)]

    def committed(self, _places: object, timeout: float) -> list[TopicPartition]:
        self.asked += 1
        time.sleep(timeout)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def close(self) -> None:
        self.closed = True


def test_a_member_that_cannot_fetch_its_offsets_joins_again(
    servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "STEP_S", 0.2)
    monkeypatch.setattr(pipeline, "CALL_S", 0.1)
    deaf = Deaf()
    with HistoryWriter(
        tmp_path / "h", Described(workload="transactions", clients={}, settings={}, seed=0)
    ) as writer:
        member = pipeline.Pipeline(
            shared=Shared(writer),
            clients=Clients.connect(servers, ClientConfig()),
            route=pipeline.Route(source=SOURCE, target=TARGET, group="g"),
            transactional_id="t",
            rng=random.Random(0),
            process=0,
            consumer=deaf,
        )
        member._rewind()
    history = operations(tmp_path / "h")

    assert deaf.closed
    assert deaf.asked > 1
    assert isinstance(member.consumer, Consumer)
    assert [op.outcome for op in those(history, "fetch_offset")] == ["fail"] * deaf.asked
    assert len(those(history, "subscribe", "ok")) == 1


# ---------------------------------------------------------------- what can't be recorded


def test_a_cluster_without_transactions_is_one_line_and_no_folder(tmp_path: Path) -> None:
    too_long = ClientConfig({"transaction.timeout.ms": "900001"})  # transaction.max.timeout.ms + 1
    with serving(ServeOptions(brokers=1)) as cluster:
        options = RecordOptions(
            folder=tmp_path / "history",
            bootstrap_servers=cluster.bootstrap_servers,
            workload="transactions",
            client_config=too_long,
        )
        with pytest.raises(UnreachableCluster, match=r"no transactions \(.*\); use --workload"):
            record(options)
    assert not (tmp_path / "history").exists()


def test_stopping_the_recording_stops_every_member(servers: str, tmp_path: Path) -> None:
    def beside(_sent: threading.Event) -> None:
        raise InputFault("no such broker")

    options = RecordOptions(
        folder=tmp_path / "h", bootstrap_servers=servers, sends=100_000, fault_injector=beside
    )
    clients = Clients.connect(servers, ClientConfig())
    with (
        pytest.raises(InputFault, match="no such broker"),
        HistoryWriter(
            options.folder, Described(workload="transactions", clients={}, settings={}, seed=0)
        ) as writer,
    ):
        transactions.run(options, Shared(writer), clients, SOURCE, TARGET)
