"""Computes the states of a topic partition on real brokers, from their TRACE logs and their log
folders.

A trace does not contain the contents of records. They are read from the log folders, at every fault
and at the end (see the class `Contents`). The states therefore also contain records that a broker
loses later, when it truncates its log at a restart.

The drawing shows the three inputs, the computed states, and the claims that are checked on the
states:

    events of brokers and controller  ─┐
    kills and starts of brokers       ─┼─> Moment, Moment, ...  ─> the claims on elections
    values of records                 ─┘

Some lines of a trace are written late, so a high watermark can be above the known end of the log.
The state then has the known end of the log instead. This changes when lines about further appends
follow.

Source: `checkers.tracing.replication_lines`; KIP-966.
Simplified: one topic partition without transactions. After its start, a broker is regarded as
registered when it first logs a role of the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from checkers.tracing.log_lines import log_lines
from checkers.tracing.logged_events import Event
from checkers.tracing.reading import read
from checkers.tracing.registrations import Registration
from checkers.tracing.replication_lines import Step, creates
from properties.claims.elections import Entry, Moment, Replica
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.record_batch import decode, header


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    at_ns: int
    broker: int
    is_up: bool


@dataclass(slots=True)
class Contents:
    _of: dict[tuple[int, int, int], str] = field(default_factory=dict[tuple[int, int, int], str])
    _any: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    _epochs: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def look(self, broker: int, folder: Path) -> None:
        for segment in sorted(folder.glob("*.log")):
            for batch in whole_batches(segment.read_bytes()):
                epoch = header(batch).leader_epoch
                for offset, record in decode(batch):
                    value = (record.value or b"").decode()
                    self._of[broker, offset, epoch] = value
                    self._any.setdefault((offset, epoch), value)
                    self._epochs[broker, offset] = epoch

    def entry(self, broker: int, offset: int, epoch: int) -> Entry:
        # The value comes from the broker's folder, or else from another broker's folder. If no
        # folder ever had the record, the value is a text with the offset.
        anywhere = self._any.get((offset, epoch), f"offset {offset} of leader epoch {epoch}")
        return Entry(offset, epoch, self._of.get((broker, offset, epoch), anywhere))

    def epoch(self, broker: int, offset: int) -> int | None:
        """Returns the leader epoch of the record at an offset of a broker's log. The trial reads
        the log many times, and the last reading with a record at this offset decides. Returns None
        if no reading has such a record.
        """
        return self._epochs.get((broker, offset))


def partition_events(traces: Iterable[Path], partition: str) -> Sequence[Event]:
    """Returns the events of one partition, in the order of their times. Returns no events if the
    traces do not show the creation of the partition.
    """
    lines = (line for line in log_lines(traces) if partition in line.message)
    return read(lines).partitions.get(partition, [])


def moments(
    events: Iterable[Event],
    lives: Iterable[Life],
    contents: Contents,
    virtual_ms: Callable[[int], int],
) -> Iterator[Moment]:
    """Yields the state of a topic partition after its creation and after each change. Yields
    nothing if `events` does not contain the creation.

    `lives` has the times at which processes of brokers started and ended. `virtual_ms` is a
    function that converts a time of the logs' clock to the virtual time of a state.
    """
    both: list[Event | Life] = sorted((*lives, *events), key=_at_ns)
    begin = next(
        (at for at, one in enumerate(both) if isinstance(one, Event) and creates(one)), None
    )
    if begin is None:
        return
    created = both[begin]
    assert isinstance(created, Event)
    watch = _Watch.created(created, contents)
    last: Moment | None = None
    for one in (*(one for one in both[:begin] if isinstance(one, Life)), *both[begin:]):
        if isinstance(one, Life):
            watch.live(one)
        else:
            _STEPS.get(Step(one.step), _ignored)(watch, one)
        seen = watch.moment(virtual_ms(max(_at_ns(one), _at_ns(created))))
        if last is None or replace(seen, at_ms=last.at_ms) != last:
            yield seen
            last = seen


def _at_ns(one: Event | Life) -> int:
    return one.at_ns if isinstance(one, Life) else one.line.at_ns


@dataclass(slots=True)
class _Watch:
    registration: Registration
    replicas: dict[int, Replica]
    contents: Contents
    marks: dict[int, int] = field(default_factory=dict[int, int])  # high watermarks, as logged

    @classmethod
    def created(cls, event: Event, contents: Contents) -> _Watch:
        members = sorted(event.members("replicas"))
        return cls(Registration.created(event), {one: Replica() for one in members}, contents)

    def moment(self, at_ms: int) -> Moment:
        return Moment(
            at_ms=at_ms,
            leader=self.registration.leader,
            leader_epoch=self.registration.leader_epoch,
            in_sync=tuple(sorted(self.registration.isr)),
            eligible=tuple(sorted(self.registration.elr)),
            replicas={**self.replicas},
        )

    def live(self, life: Life) -> None:
        if life.broker in self.replicas:
            self._change(life.broker, is_up=life.is_up, is_registered=False, leads=False)

    def change(self, event: Event) -> None:
        if event.number("partitionEpoch") > self.registration.partition_epoch:
            self.registration = self.registration.changed(event)

    def lead(self, event: Event) -> None:
        self._take_role(event)
        self._change(event.line.node, leads=True, in_sync=_isr(event))

    def follow(self, event: Event) -> None:
        self._take_role(event)
        self._change(event.line.node, leads=False, in_sync=())

    def learn(self, event: Event) -> None:
        broker = event.line.node
        if self.replicas[broker].leads:
            self._change(broker, in_sync=_isr(event))

    def load(self, event: Event) -> None:
        self._mark(event.line.node, event.number("mark"))

    def append(self, event: Event) -> None:
        broker = event.line.node
        epoch = self.replicas[broker].leader_epoch
        self._extend(broker, event.number("first"), event.number("last") + 1, epoch)

    def copy(self, event: Event) -> None:
        """Appends to a follower's log the records that the follower fetched from its
        leader's log.
        """
        broker = event.line.node
        epoch = self.replicas[broker].leader_epoch
        leader = next(
            (one for one in self.replicas.values() if one.leads and one.leader_epoch == epoch), None
        )
        epochs = {entry.offset: entry.leader_epoch for entry in leader.log} if leader else {}
        for offset in range(event.number("first"), event.number("last") + 1):
            self._extend(broker, offset, offset + 1, epochs.get(offset, epoch))

    def truncate(self, event: Event) -> None:
        broker, offset = event.line.node, event.number("offset")
        self._change(broker, log=self.replicas[broker].below(offset))
        self._mark(broker, min(self.marks.get(broker, 0), offset))

    def start_at(self, event: Event) -> None:
        self._change(event.line.node, log=())
        self._mark(event.line.node, event.number("offset"))

    def mark(self, event: Event) -> None:
        if "mark" in event.fields:
            self._mark(event.line.node, event.number("mark"))

    def _take_role(self, event: Event) -> None:
        broker, end = event.line.node, event.number("offset")
        epoch = event.number("leader_epoch")
        self._change(broker, is_up=True, is_registered=True, leader_epoch=epoch)
        log = self.replicas[broker].below(end)
        self._change(broker, log=log)
        begin = log[-1].offset + 1 if log else 0
        for offset in range(begin, end):  # appended just before a kill, which lost the line
            known = self.contents.epoch(broker, offset)
            self._extend(broker, offset, offset + 1, epoch if known is None else known)
        self._mark(broker, event.number("mark"))

    def _extend(self, broker: int, begin: int, end: int, epoch: int) -> None:
        new = (self.contents.entry(broker, offset, epoch) for offset in range(begin, end))
        self._change(broker, log=(*self.replicas[broker].below(begin), *new))
        self._mark(broker, self.marks.get(broker, 0))

    def _mark(self, broker: int, mark: int) -> None:
        self.marks[broker] = mark
        log = self.replicas[broker].log
        self._change(broker, high_watermark=min(mark, log[-1].offset + 1 if log else 0))

    def _change(self, broker: int, **changes: object) -> None:
        self.replicas[broker] = replace(self.replicas[broker], **changes)  # type: ignore[arg-type]


def _isr(event: Event) -> tuple[int, ...]:
    return tuple(sorted(event.members("isr")))


def _ignored(_watch: _Watch, _event: Event) -> None:
    """Does nothing, because no claim reads what this event changes."""


_STEPS: Final[Mapping[Step, Callable[[_Watch, Event], None]]] = {
    Step.CHANGE: _Watch.change,
    Step.LEAD: _Watch.lead,
    Step.FOLLOW: _Watch.follow,
    Step.LEARN: _Watch.learn,
    Step.COMMIT_ISR: _Watch.learn,
    Step.LOAD: _Watch.load,
    Step.APPEND: _Watch.append,
    Step.COPY: _Watch.copy,
    Step.TRUNCATE: _Watch.truncate,
    Step.START_AT: _Watch.start_at,
    Step.ADVANCE: _Watch.mark,
    Step.FOLLOWER_MARK: _Watch.mark,
}
