"""Maps the events of one partition of a real cluster to actions of the spec `idempotence-abstract`.

Just before an append, the leader's thread writes a log line with the producer, the producer epoch
and the sequence numbers of the batch. The spec has only one log, which is the log of the newest
leader. This table has the actions of the spec, and the events that each action stands for:

    append_first    the first record of a producer in a producer epoch; its sequence number is 0
    append_next     each further record of the same producer and producer epoch
    change_leader   a broker starts to lead in a newer leader epoch; the log of the spec is
                    truncated to the end of this broker's log

Transaction markers and batches without a producer id count as records of an extra producer, which
has only one producer epoch. No log line shows an acknowledgement, so the action `acknowledge` never
happens.

Source: KIP-98; ProducerStateManager.update; `model.idempotence_abstract.actions`.
Simplified: the spec has no sequence numbers that wrap around, and no producer that expires and
continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, Self

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import ElementNames, Outcome, Refused, done
from checkers.tracing.replication_lines import Step, names_producer
from model.idempotence_abstract.versions import IdempotentProducer
from model.language.rows import RowState
from properties.refinement.behaviour import Behaviour, Taken, as_int

SPEC: Final = "idempotence-abstract"
NO_SEQUENCE: Final = -1  # of a marker
UNNUMBERED: Final = -1  # stands for every batch without a producer id, and every marker


class Batch(NamedTuple):
    producer: int
    epoch: int
    first: int
    last: int


class Latest(NamedTuple):
    """The latest record of a producer in the log, in the current state of the spec."""

    epoch: int
    sequence: int
    offset: int


class Position(NamedTuple):
    """A position in the trace: the spec's state after the events so far, and facts that the
    state does not contain.
    """

    state: RowState
    leader: tuple[int, int]  # leader epoch and broker of the newest leader
    batches: Mapping[tuple[int, str], tuple[Batch, ...]]  # by node and thread
    latest: Mapping[int, Latest]  # by producer
    taken: Taken | None  # the last action


@dataclass(slots=True)
class PartitionIdempotence:
    behaviour: Behaviour
    producers: Mapping[int, int]  # producer id -> producer of the spec
    _leader: tuple[int, int] = (-1, -1)
    _batches: Mapping[tuple[int, str], tuple[Batch, ...]] = field(
        default_factory=dict[tuple[int, str], tuple[Batch, ...]]
    )
    _latest: Mapping[int, Latest] = field(default_factory=dict[int, Latest])

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self | Refused:
        """Returns the partition, in the state that it has before the first event of the trace.

        If no event names the producer of a batch, returns a refusal.
        """
        named = [*filter(names_producer, events)]
        if not named:
            return Refused("no line names the producer of a batch", is_outside=True)
        ids = sorted({e.number("producer") for e in named})
        producers = {number: k for k, number in enumerate((UNNUMBERED, *ids))}
        end = 2 + max((e.number("last") for e in events if "first" in e.fields), default=0)
        sequence = max(e.number("last_sequence") for e in named)
        sorts: dict[str, int | range] = {
            "Producer": len(producers),
            "ProducerEpoch": 2 + max(e.number("epoch") for e in named),
            "Sequence": max(sequence, end) + 2,
            "Offset": end + 1,
        }
        return cls(Behaviour.initial(_spec(), sorts, (0,)), producers)

    @property
    def elements(self) -> ElementNames:
        names = ["no producer id" if n == UNNUMBERED else f"producer {n}" for n in self.producers]
        return {"Producer": names}

    @property
    def position(self) -> Position:
        return Position(
            self.behaviour.state, self._leader, self._batches, self._latest, self.behaviour.last
        )

    def back_to(self, position: Position) -> None:
        self.behaviour.state, self._leader, self._batches, self._latest, last = position
        self.behaviour.last = last

    def take(self, event: Event) -> Outcome:
        does = _STEPS.get(Step(event.step))
        if does is None:
            return None
        before = self.position
        refused = does(self, event)
        if refused is not None:
            self.back_to(before)
        return refused

    def shown(self, event: Event) -> Iterator[str]:
        del event
        epoch, node = self._leader
        yield f"broker {node} leads in leader epoch {epoch}: log end {self._end}"
        for producer, last in self._latest.items():
            name = "no producer" if producer == UNNUMBERED else f"producer {producer}"
            yield (
                f"{name}: epoch {last.epoch}, last sequence {last.sequence} at offset {last.offset}"
            )

    @property
    def _end(self) -> int:
        return as_int(self.behaviour.state["end_offset", ()])

    def _lead(self, event: Event) -> Outcome:
        epoch, end = event.number("leader_epoch"), event.number("offset")
        if epoch <= self._leader[0]:
            return None
        is_first, self._leader = self._leader[0] < 0, (epoch, event.line.node)
        if is_first:
            return None if end == 0 else Refused(f"the log of the first leader ends at {end}")
        if end < as_int(self.behaviour.state["high_watermark", ()]):
            return Refused("the log of the new leader lacks committed records", is_outside=True)
        if end > self._end:
            return Refused("the new leader was elected with another log", is_outside=True)
        refused = self._do("change_leader", end)
        if refused is None and self._latest:
            self._latest = self._latest_below(end)
        return refused

    def _latest_below(self, end: int) -> Mapping[int, Latest]:
        numbers = {p: producer for producer, p in self.producers.items()}
        found: dict[int, Latest] = {}
        for offset in range(end):
            p, epoch, sequence = (
                as_int(self.behaviour.state[f"stamp.{name}", (offset,)])
                for name in ("producer", "producer_epoch", "sequence")
            )
            found[numbers[p]] = Latest(epoch, sequence, offset)
        return found

    def _name(self, event: Event) -> Outcome:
        thread = event.line.node, event.line.thread
        batch = Batch(
            event.number("producer"),
            event.number("epoch"),
            event.number("first_sequence"),
            event.number("last_sequence"),
        )
        waiting = (*self._batches.get(thread, ()), batch)
        self._batches = {**self._batches, thread: waiting}
        return None

    def _append(self, event: Event) -> Outcome:
        thread = event.line.node, event.line.thread
        batches = self._batches.get(thread, ())
        self._batches = {t: waiting for t, waiting in self._batches.items() if t != thread}
        if event.line.node != self._leader[1]:
            return None  # a leader that does not know yet that it was deposed
        first, last = event.number("first"), event.number("last")
        if first != self._end:
            return Refused(f"first offset: the line has {first}, the spec {self._end}")
        records = [*self._records(batches)]
        if not batches:
            count = range(last + 1 - first)
            records = [(UNNUMBERED, 0, self._next_unnumbered(k)) for k in count]
        if len(records) != last + 1 - first:
            return Refused(f"{last + 1 - first} offsets, and {len(records)} sequences")
        for offset, record in enumerate(records, first):
            refused = self._append_one(*record, offset)
            if refused is not None:
                return refused
        return None

    def _records(self, batches: Sequence[Batch]) -> Iterator[tuple[int, int, int]]:
        for batch in batches:
            if batch.first == NO_SEQUENCE:
                yield UNNUMBERED, 0, self._next_unnumbered(0)
            else:
                for sequence in range(batch.first, batch.last + 1):
                    yield batch.producer, batch.epoch, sequence

    def _next_unnumbered(self, more: int) -> int:
        known = self._latest.get(UNNUMBERED)
        return more if known is None else known.sequence + 1 + more

    def _append_one(self, producer: int, epoch: int, sequence: int, offset: int) -> Outcome:
        known, p = self._latest.get(producer), self.producers.get(producer)
        if p is None:
            return Refused(f"no line of this trace has producer {producer}")
        if known is not None and known.epoch == epoch:
            refused = self._do("append_next", p, sequence, known.offset, offset + 1)
        elif sequence:
            refused = Refused(
                f"producer {producer} begins epoch {epoch} with sequence {sequence}, not with 0"
            )
        else:
            refused = self._do("append_first", p, epoch, offset + 1)
        self._latest = {**self._latest, producer: Latest(epoch, sequence, offset)}
        return refused

    def _advance(self, event: Event) -> Outcome:
        known = as_int(self.behaviour.state["high_watermark", ()])
        mark = event.number("mark")
        return self._do("advance_high_watermark", mark) if mark > known else None

    def _do(self, action: str, *arguments: int) -> Outcome:
        return done(self.behaviour, action, *arguments)


@cache
def _spec() -> IdempotentProducer:
    return IdempotentProducer()


_STEPS: Final[Mapping[Step, Callable[[PartitionIdempotence, Event], Outcome]]] = {
    Step.LEAD: PartitionIdempotence._lead,
    Step.PRODUCER: PartitionIdempotence._name,
    Step.APPEND: PartitionIdempotence._append,
    Step.ADVANCE: PartitionIdempotence._advance,
}
