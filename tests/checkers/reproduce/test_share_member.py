"""Members of share groups, and the actions on them in schedules (fixed lists of steps).

The reference broker has no share groups. So a queue in this process takes the place of the broker
and of confluent-kafka's share consumer: a released record is delivered again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from checkers.reproduce import share_member
from checkers.reproduce.checks import done, is_noted
from checkers.reproduce.share_actions import (
    accept_record,
    await_answer,
    begin_release,
    configure_group,
    create_share_coordinator,
    join,
    leave,
    receive,
)
from checkers.reproduce.share_member import NO_ANSWER, RELEASE, ShareMember
from checkers.reproduce.stage import Stage
from checkers.systems.administration import Administration, Refused
from model.faults import InputFault
from tests.checkers.reproduce.test_stage import take


@dataclass
class Record:
    text: str
    count: int = 0

    def value(self) -> bytes:
        return self.text.encode()

    def delivery_count(self) -> int:
        return self.count

    def error(self) -> None:
        return None


@dataclass
class Queue:
    """The records of a share group, and its consumers. The next acknowledgements fail; `lost` is
    their number.
    """

    waiting: list[Record]
    lost: int = 0
    consumers: list[QueueConsumer] = field(default_factory=list["QueueConsumer"])

    def consumer(self, settings: dict[str, Any]) -> QueueConsumer:
        self.consumers.append(QueueConsumer(self, settings))
        return self.consumers[-1]


@dataclass
class QueueConsumer:
    queue: Queue
    settings: dict[str, Any]
    topics: list[str] = field(default_factory=list[str])
    closed: bool = False
    _pending: list[tuple[Record, int]] = field(default_factory=list[tuple[Record, int]])
    _answered: Callable[..., None] = print

    def set_acknowledgement_commit_callback(self, callback: Callable[..., None]) -> None:
        self._answered = callback

    def subscribe(self, topics: list[str]) -> None:
        self.topics = topics

    def poll(self, _: float) -> Iterator[Record]:
        if self.queue.waiting:
            self.queue.waiting[0].count += 1
            yield self.queue.waiting.pop(0)

    def acknowledge(self, record: Record, kind: int) -> None:
        self._pending.append((record, kind))

    def commit_async(self) -> None:
        while self._pending:
            record, kind = self._pending.pop()
            if self.queue.lost:
                self.queue.lost -= 1
                self._answered({}, KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT)))
                continue
            self._answered({}, None)
            if kind == RELEASE:
                self.queue.waiting.insert(0, record)

    def commit_sync(self, _: float) -> None:
        self.commit_async()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    queue = Queue([Record("a"), Record("b")])
    monkeypatch.setattr(confluent_kafka, "ShareConsumer", queue.consumer)
    monkeypatch.setattr(share_member, "WITHIN_S", 0.0)
    return queue


def test_members_take_single_records_and_a_released_one_is_delivered_again(
    stage: Stage, queue: Queue
) -> None:
    assert take(stage, join("m1", "m2"), done).reached
    assert take(stage, receive("m1"), is_noted("a, delivery 1")).reached
    assert take(stage, receive("m2"), is_noted("b, delivery 1")).reached
    assert take(stage, begin_release("m1", "a"), done).reached
    assert take(stage, await_answer("m1"), is_noted("NONE")).reached
    assert take(stage, receive("m2"), is_noted("a, delivery 2")).reached
    assert take(stage, accept_record("m2", "a"), is_noted("NONE")).reached
    assert take(stage, receive("m1"), is_noted("no record")).reached
    stage.close()

    assert [one.closed for one in queue.consumers] == [True, True]
    for one in queue.consumers:
        assert one.topics == ["t"]
        assert one.settings["group.id"] == "g"
        assert one.settings["bootstrap.servers"] == stage.servers


def test_a_member_that_leaves_is_closed_once(stage: Stage, queue: Queue) -> None:
    take(stage, join("m1"), done)

    assert take(stage, leave("m1"), done).reached
    assert [one.closed for one in queue.consumers] == [True]
    assert take(stage, receive("m1"), is_noted("a, delivery 1")).reached
    assert [one.closed for one in queue.consumers] == [True, False]


def test_a_failed_acknowledgement_is_noted(stage: Stage, queue: Queue) -> None:
    queue.lost = 1
    take(stage, receive("m1"), done)
    take(stage, accept_record("m1", "a"), done)

    assert stage.noted.startswith("REQUEST_TIMED_OUT")


def test_an_answer_that_has_not_arrived_is_noted(stage: Stage, queue: Queue) -> None:
    take(stage, join("m1"), done)

    assert take(stage, await_answer("m1", within_s=0), is_noted(NO_ANSWER)).reached


def test_an_old_confluent_kafka_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(confluent_kafka, "ShareConsumer", raising=False)

    with pytest.raises(InputFault, match="no consumer for share groups; install 2"):
        ShareMember.join("127.0.0.1:1", "t")


def test_the_share_coordinator_is_the_only_replica_of_its_topic(stage: Stage) -> None:
    assert take(stage, create_share_coordinator(2), done).reached

    assert stage.administration().replicas() == {("__share_group_state", 0): (2,)}
    with pytest.raises(Refused, match="TOPIC_ALREADY_EXISTS"):
        create_share_coordinator(1)(stage)


def test_each_configuration_of_the_group_is_set(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(Administration, "configure", lambda _, *request: sent.append(request))
    configure_group(share_auto_offset_reset="earliest")(stage)

    assert sent == [(32, "g", "share.auto.offset.reset", "earliest")]
