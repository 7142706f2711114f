"""A simulated program's subscription: it polls the partitions that the consumer group assigns to
the program.

The program itself commits its positions. The method `commit_due` commits them at an interval, as
with enable.auto.commit.

Source: the Java client's KafkaConsumer; docs/kafka-rules.md E1.
Simplified: a subscription has only one topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from model.histories import Isolation, Poll
from model.vocabulary import Offset, TopicPartition
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.classic_member import Member
from reference_impl.simulation.programs import Application, Pause, Steps
from reference_impl.simulation.reader import Reader

IDLE_MS: Final = 25

OffsetReset = Literal["earliest", "latest"]


@dataclass(slots=True, kw_only=True)
class Subscription:
    """A member of a consumer group. It has one reader for each partition that the member owns."""

    app: Application
    brokers: BrokerClient
    group: str
    topic: str
    isolation: Isolation = "read_committed"
    offset_reset: OffsetReset = "earliest"  # auto.offset.reset
    empty_polls: int = 0  # in a row
    member: Member = field(init=False)
    readers: dict[TopicPartition, Reader] = field(default_factory=dict[TopicPartition, Reader])
    _committed: dict[TopicPartition, Offset] = field(default_factory=dict[TopicPartition, Offset])
    _committed_ms: int = 0

    def __post_init__(self) -> None:
        self.member = Member(app=self.app, brokers=self.brokers, group=self.group, topic=self.topic)

    @property
    def positions(self) -> dict[TopicPartition, Offset]:
        return {place: reader.position for place, reader in self.readers.items()}

    def poll(self) -> Steps[tuple[Poll, ...]]:
        """Returns the next records of the owned partitions. The records of one partition are in log
        order.

        If necessary, the member first sends a heartbeat or joins the group again.
        """
        yield from self.ensure_membership()
        return (yield from self.read())

    def read(self) -> Steps[tuple[Poll, ...]]:
        """Returns the next records of the owned partitions, without any heartbeat."""
        return (yield from self._read(Reader.poll))

    def poll_in_transaction(self) -> Steps[tuple[Poll, ...]]:
        """Returns the next records of the owned partitions, without any heartbeat.

        In the history, the poll is a part of the transaction in progress.
        """
        return (yield from self._read(Reader.poll_in_transaction))

    def ensure_membership(self) -> Steps[None]:
        """Sends a heartbeat if the heartbeat interval is over.

        If the member must join the group, its readers continue at the committed offsets.
        """
        if not (yield from self.member.ensure_membership()):
            yield from self.resume()

    def commit(self) -> Steps[bool]:
        """Commits the positions of all readers, and returns False if the commit fails.

        If the positions are equal to the committed positions, the method sends no request and
        returns True.
        """
        self._committed_ms = self.app.now_ms
        positions = self.positions
        if positions == self._committed:
            return True
        is_kept = yield from self.member.commit(positions)
        self._committed = positions if is_kept else {}
        return is_kept

    def commit_due(self, every_ms: int) -> Steps[None]:
        """Commits the positions if the previous commit was at least `every_ms` ago. A failed
        commit is ignored.
        """
        if self.readers and self.app.now_ms - self._committed_ms >= every_ms:
            yield from self.commit()

    def seek(self, topic_partition: TopicPartition, offset: Offset) -> None:
        if topic_partition in self.readers:
            self.readers[topic_partition].position = offset

    def resume(self) -> Steps[None]:
        self.readers, self._committed = {}, {}
        committed = yield from self.member.committed()
        for place, offset in committed.items():
            reader = Reader(
                app=self.app,
                brokers=self.brokers,
                topic_partition=place,
                isolation=self.isolation,
                group=self.group,
            )
            if offset is not None:
                reader.position = offset
            elif self.offset_reset == "latest":
                reader.position = yield from reader.end_offset()
            self.readers[place] = reader

    def _read(self, read: Callable[[Reader], Steps[tuple[Poll, ...]]]) -> Steps[tuple[Poll, ...]]:
        found: tuple[Poll, ...] = ()
        for reader in self.readers.values():
            found += yield from read(reader)
        if not self.readers:
            yield Pause(IDLE_MS)
        self.empty_polls = 0 if found else self.empty_polls + 1
        return found
