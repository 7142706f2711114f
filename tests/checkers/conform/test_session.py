"""`urteil conform` sends requests to a served broker, and notes how a faulty server fails."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from checkers.conform import trial
from checkers.conform.connection import CLOSED, SENT, SILENT, Connection
from checkers.conform.group_requests import join, member_of, sync
from checkers.conform.requests import (
    end,
    fetch,
    init,
    list_offsets,
    produce,
    producer,
    txn_commit_offsets,
)
from checkers.conform.session import PENDING, RETRIED, Session, errors, retried_errors
from checkers.conform.steps import Begin, Collect, Steps, Topic, bound, now
from checkers.conform.target import SHARED, NotReady, Target, fields_of
from reference_impl.wire.messages.apis import Api

BATCH = {"records": 2, "timestamp": now()}


@pytest.fixture(scope="module")
def target() -> Generator[Target]:
    with trial.reference() as opened:
        yield opened


@pytest.fixture
def session(target: Target, numbers: Iterator[int]) -> Generator[Session]:
    made = Session(target, next(numbers))
    made.prepare(Steps(family="x", seed=0, topics=(Topic(name="~t", partitions=2),), steps=()))
    yield made
    made.close()


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return iter(range(1_000))


def collected(session: Session, begin: Begin, within_s: float = 3.0) -> object:
    session.begin(begin)
    answer = session.collect(Collect(label=begin.label, within_ms=0), time.monotonic() + within_s)
    session.bind(begin.send, answer)
    return answer


# ------------------------------------------------------------ connections


@contextmanager
def server(talk: Callable[[socket.socket], None]) -> Generator[Connection]:
    """Yields a connection to a server that handles each connection with the function `talk`."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def run() -> None:
            while True:
                try:
                    stream, _ = listening.accept()
                except OSError:
                    return
                with stream:
                    stream.recv(1_000)
                    talk(stream)

        threading.Thread(target=run, daemon=True).start()
        connection = Connection(*listening.getsockname())
        yield connection
        connection.close()
        listening.shutdown(socket.SHUT_RDWR)


def ask(connection: Connection) -> object:
    return connection.send(Api.API_VERSIONS, 0, {}, within_s=0.3)


def test_a_closed_connection_is_an_answer() -> None:
    with server(lambda stream: None) as connection:
        assert ask(connection) == CLOSED
        assert ask(connection) == CLOSED


@contextmanager
def refusing_port() -> Iterator[int]:
    """Yields a port that refuses connections: it is bound, so nobody else listens on it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_silence_is_an_answer() -> None:
    with server(lambda stream: time.sleep(1)) as connection:
        assert ask(connection) == SILENT


def test_a_response_without_its_schema_is_an_answer() -> None:
    with server(lambda stream: stream.sendall(b"\0\0\0\5\0\0\0\1\0")) as connection:
        assert str(ask(connection)).startswith("unreadable: API_VERSIONS version 0")


def test_a_refused_connection_is_an_answer_and_an_unusable_cluster_an_error() -> None:
    with refusing_port() as port:
        assert ask(Connection("127.0.0.1", port)) == CLOSED
        with pytest.raises(NotReady, match="name a broker that runs"):
            Target.opened("x", f"127.0.0.1:{port}", "run-", 0)


def test_a_broker_that_does_not_answer_later_is_an_error_with_the_next_move() -> None:
    with refusing_port() as port:
        brokers = {1: ("127.0.0.1", port)}
        cluster = Target(name="x", bootstrap_servers="", run="", begun_ms=0, brokers=brokers)
        with pytest.raises(NotReady, match=r"^x: the connection is closed; check that every"):
            cluster.create([Topic(name="~t")], {"~t": "t"})


# ------------------------------------------------------------ clusters


def test_a_cluster_has_its_brokers_versions_and_shared_topics(target: Target) -> None:
    assert sorted(target.brokers) == [1, 2, 3]
    assert target.has(Api.FETCH, 12)
    assert not target.has(Api.FETCH, 99)
    assert target.shared.keys() == {topic.name for topic in SHARED}
    assert len(target.shared["^four"]["partitions"]) == 4


def test_a_topic_that_cannot_be_created_is_named(target: Target) -> None:
    topic = Topic(name="~bad", configs={"nonsense": "1"})
    with pytest.raises(NotReady, match="run-bad: INVALID_CONFIG"):
        target.create([topic], {"~bad": "run-bad"})


def test_a_created_topic_is_used_once_its_leaders_accept_requests(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a topic is created, the session waits until its leaders accept requests.

    Kafka's metadata may name a leader before the leader itself knows of it.
    """
    error_codes = ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "NONE"]
    send, asked = Connection.send, list[int]()

    def slow_to_lead(self: Connection, api: Api, version: int, body: Any, **how: Any) -> Any:
        if api is not Api.LIST_OFFSETS:
            return send(self, api, version, body, **how)
        asked.append(self.port)
        return {"topics": [{"partitions": [{"error_code": error_codes[len(asked) - 1]}]}]}

    monkeypatch.setattr(Connection, "send", slow_to_lead)
    made = target.create([Topic(name="~new")], {"~new": f"{target.run}new"})
    leader = made["~new"]["partitions"][0]["leader_id"]
    assert asked == [target.brokers[leader][1]] * 3


# ------------------------------------------------------------ sessions


def test_fetched_records_and_offsets_agree_with_the_sent_records(session: Session) -> None:
    produced = session.send(produce("append", "~t", BATCH))
    assert errors(produced) == {"NONE"}
    assert errors(session.send(fetch("read", "~t", 0))) == {"NONE"}
    (topic,) = fields_of(session.send(list_offsets("end", "~t", -1)))["topics"]
    assert topic["partitions"][0]["offset"] == 2


def test_a_follower_refuses_and_acks_0_has_no_answer(session: Session) -> None:
    refused = session.send(produce("append", "~t", BATCH, to="follower ~t 0"))
    assert errors(refused) == {"NOT_LEADER_OR_FOLLOWER"}
    assert session.send(produce("append", "~t", BATCH, acks=0)) == SENT


def test_values_are_bound_and_the_former_ones_are_kept(session: Session) -> None:
    first = init("init", "p", "~x", version=5)
    for _ in range(2):
        session.bind(first, session.send(first))
    assert session.values["p.epoch"] == session.values["p.epoch before"] + 1
    assert session.resolved(producer("p before"))["producer_epoch"] == 0
    stale = session.send(end("end", "~x", "p before", commit=True, version=4))
    assert errors(stale) <= {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}


def test_an_error_binds_nothing(session: Session) -> None:
    refused = init("init", "p", "~x", timeout_ms=0)
    answer = session.send(refused)
    session.bind(refused, answer)
    assert errors(answer) == {"INVALID_TRANSACTION_TIMEOUT"}
    assert "p.id" not in session.values
    assert session.resolved(bound("p.id", otherwise=777)) == 777


def test_a_group_is_formed_step_by_step(session: Session) -> None:
    collected(session, join("a", "~g", version=3))
    answer = collected(session, sync("a", "~g", "a"))
    assert errors(answer) == {"NONE"}
    assert session.resolved(member_of("a")) == session.values["leader"]
    waiting = join("b", "~g", version=3)
    assert collected(session, waiting, 0.2) == PENDING
    assert session.begun("join b") is waiting.send
    collected(session, join("a", "~g", version=3))
    later = session.collect(Collect(label="join b", within_ms=0), time.monotonic() + 3)
    assert errors(later) == {"NONE"}
    assert session.begun("join b") is None


def test_a_request_is_sent_again_while_markers_are_written() -> None:
    """While Kafka writes the markers of a transaction, it answers the next request with an error,
    and the request is sent again.

    The error is CONCURRENT_TRANSACTIONS. If the broker verifies the transaction, the error may also
    be COORDINATOR_NOT_AVAILABLE for TxnOffsetCommit, or NOT_ENOUGH_REPLICAS for Produce.
    """
    wrong = txn_commit_offsets("unknown member", "~x", "~g", "~t", "p", 3, retries=False)
    assert retried_errors(wrong) == {"CONCURRENT_TRANSACTIONS", "COORDINATOR_NOT_AVAILABLE"}
    plain = produce("append", "~t", BATCH, retries=False)
    assert retried_errors(plain) == {"CONCURRENT_TRANSACTIONS"}
    transactional = produce("append", "~t", BATCH, transaction="~x")
    assert retried_errors(transactional) == RETRIED | {"NOT_ENOUGH_REPLICAS"}


def test_receivers_are_leaders_coordinators_and_other_brokers(session: Session) -> None:
    leader, follower = session.receiver("leader ~t 1"), session.receiver("follower ~t 1")
    assert leader != follower
    assert session.receiver("group ~g") != session.receiver("not-group ~g")
    assert session.receiver("transaction ~x") != session.receiver("not-transaction ~x")
    assert session.receiver("node 1") == 1
    assert session.receiver("controller") == session.target.controller in session.target.brokers


def test_a_system_without_create_topics_creates_them_by_metadata(target: Target) -> None:
    """If a system has no CreateTopics, the session creates a topic by a Metadata request.

    This works on librdkafka's mock cluster, not on the reference broker. So here the topic exists
    already. The test checks only that the session finds its partitions by Metadata requests.
    """
    without = replace(target, versions={Api.METADATA: range(13)})
    assert not without.creates_topics
    assert without.create([Topic(name="^two")], {"^two": f"{target.run}two"})["^two"]["partitions"]
