"""How a program consumes as a member of a group: it polls what it owns, from where the group is.

After each rebalance it goes on at the committed offsets: what was processed and not committed comes
again. When and whether positions are committed is the program's; `commit_due` is the rhythm of
clients that commit by themselves.

Source: the Java client's KafkaConsumer; protocol rules, section e.
Simplified: one topic.
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
    """A member's positions in what it owns."""

    app: Application
    brokers: BrokerClient
    group: str
    topic: str
    isolation: Isolation = "read_committed"
    offset_reset: OffsetReset = "earliest"  # where a group begins that has committed nothing
    empty_polls: int = 0  # in a row
    member: Member = field(init=False)
    readers: dict[TopicPartition, Reader] = field(default_factory=dict[TopicPartition, Reader])
    _committed: dict[TopicPartition, Offset] = field(default_factory=dict[TopicPartition, Offset])
    _committed_ms: int = 0

    def __post_init__(self) -> None:
        self.member = Member(app=self.app, brokers=self.brokers, group=self.group, topic=self.topic)

    @property
    def positions(self) -> dict[TopicPartition, Offset]:
        """What is read next in each topic partition that it owns."""
        return {place: reader.position for place, reader in self.readers.items()}

    def poll(self) -> Steps[tuple[Poll, ...]]:
        """Some records of what this member owns, in log order; the positions move past them."""
        yield from self.ensure_membership()
        return (yield from self.read())

    def read(self) -> Steps[tuple[Poll, ...]]:
        """The same without a word to the group; who asks has kept up."""
        return (yield from self._read(Reader.poll))

    def poll_in_transaction(self) -> Steps[tuple[Poll, ...]]:
        """The same as a part of the transaction that is open."""
        return (yield from self._read(Reader.poll_in_transaction))

    def ensure_membership(self) -> Steps[None]:
        """This is a member in good standing; behind a rebalance its positions are the group's."""
        if not (yield from self.member.ensure_membership()):
            yield from self.resume()

    def commit(self) -> Steps[bool]:
        """Whether the group goes on from these positions; what it has already is not told again."""
        self._committed_ms = self.app.now_ms
        positions = self.positions
        if positions == self._committed:
            return True
        is_kept = yield from self.member.commit(positions)
        self._committed = positions if is_kept else {}
        return is_kept

    def commit_due(self, every_ms: int) -> Steps[None]:
        """The same, if it is so long ago; a refusal says nothing to the program."""
        if self.readers and self.app.now_ms - self._committed_ms >= every_ms:
            yield from self.commit()

    def seek(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """The next poll begins there; nothing happens to what this member does not own."""
        if topic_partition in self.readers:
            self.readers[topic_partition].position = offset

    def resume(self) -> Steps[None]:
        """The positions are those that the group has committed."""
        self.readers, self._committed = {}, {}
        told = yield from self.member.committed()
        for place, offset in told.items():
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
