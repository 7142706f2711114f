"""The spec `idempotence` takes only steps that the version `with-restarts` of
`idempotence-abstract` allows.

The *detailed spec*, `idempotence`, is close to Kafka's code. The *abstract spec*,
`idempotence-abstract`, is small enough to be proved. The abstract spec has one log and no follower.
When a client renumbers its batches, a batch gets another sequence number. The abstract state
contains all sequence numbers that a batch has had. The detailed state contains only the present
one.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: there is one partition. No records are deleted, and the client gives up no batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.idempotence.state import Status
from model.idempotence.versions import IdempotentProducer
from model.idempotence_abstract.versions import WithRestarts
from model.language.interpreter import State, Value
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition

IN_FLIGHT: Final = Status.labels.index("IN_FLIGHT")
ACKED: Final = Status.labels.index("ACKED")
PARTITION: Final = 0
PRODUCER: Final = 0


@dataclass
class Refinement(HistoryMapping[IdempotentProducer]):
    version: type[WithRestarts] = WithRestarts

    @cached_property
    def abstract(self) -> WithRestarts:
        return self.version(
            batches=self.detailed.batches,
            epochs=self.detailed.max_epoch + 1,
            sequences=self.detailed.batches + 1,
            offsets=self.detailed.batches * (1 + self.detailed.max_epoch) + 1,
        )

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [*self._calls(step.action, step.arguments, step.before, step.after)]

    def _calls(
        self, name: str, values: tuple[int, ...], before: State, after: State
    ) -> Iterator[Call]:
        end = as_int(before["log.end_offset", (PARTITION,)])
        match name:
            case "send":
                batch = values[1]
                yield Call("send", (batch, PRODUCER, self._number(after, batch)[1]))
            case "append":
                epoch, sequence = self._number(before, values[1])
                latest = _latest_of(before, epoch, end)
                if latest is None:
                    yield Call("append_first", (PRODUCER, epoch, end + 1))
                else:
                    yield Call("append_next", (PRODUCER, sequence, latest, end + 1))
            case "copy":
                yield Call(
                    "advance_high_watermark", (as_int(after["log.high_watermark", (PARTITION,)]),)
                )
            case "acknowledge":
                yield Call("acknowledge", (values[2],))
            case "change_leader":
                copied = as_int(after["log.end_offset", (PARTITION,)])
                restarted = any(not _is_in_window(after, o) for o in range(copied))
                yield Call("restart" if restarted else "change_leader", (copied,))
            case "refuse":
                larger = as_int(after["producer_epoch", ()])
                yield Call("refuse", (PRODUCER, self._number(before, values[1])[1], larger))
                yield from self._renumbered(before, after)
            case _:
                return

    def _renumbered(self, before: State, after: State) -> Iterator[Call]:
        for batch in range(self.detailed.batches):
            old, new = self._number(before, batch), self._number(after, batch)
            if before["status", (batch,)] == IN_FLIGHT and old != new:
                yield Call("renumber", (PRODUCER, *old, new[1]))

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields the values that must be equal in both states: the log, its high watermark, the
        client's epoch and the responses to the client.
        """
        end = as_int(detailed["log.end_offset", (PARTITION,)])
        yield "the log end", end, abstract["end_offset", ()]
        high = detailed["log.high_watermark", (PARTITION,)]
        yield "the high watermark", high, abstract["high_watermark", ()]
        epoch = detailed["producer_epoch", ()]
        yield "the client's epoch", epoch, abstract["current_epoch", (PRODUCER,)]
        for o in range(end):
            stamp = abstract["stamp.producer_epoch", (o,)], abstract["stamp.sequence", (o,)]
            yield f"the record at {o}", _record(detailed, o), stamp
        for b in range(self.detailed.batches):
            yield f"the answer to batch {b}", True, self._is_answered_alike(detailed, abstract, b)

    def _is_answered_alike(self, detailed: State, abstract: State, batch: int) -> bool:
        status = detailed["status", (batch,)]
        if not abstract["is_sent", (batch,)]:
            return status not in (IN_FLIGHT, ACKED)
        number = (PRODUCER, *self._number(detailed, batch))
        return (
            abstract["batch", number] == batch
            and bool(abstract["is_number", number])
            and bool(abstract["acked", number]) == (status == ACKED)
        )

    def _number(self, state: State, batch: int) -> tuple[int, int]:
        return as_int(state["epoch_of", (batch,)]), as_int(state["sequence_of", (batch,)])


def _record(state: State, offset: int) -> tuple[Value, Value]:
    at = (PARTITION, offset)
    return state["log.record.producer_epoch", at], state["log.record.sequence", at]


def _latest_of(state: State, epoch: int, end: int) -> int | None:
    offsets = [o for o in range(end) if _record(state, o)[0] == epoch]
    return max(offsets, default=None)


def _is_in_window(state: State, offset: int) -> bool:
    epoch, sequence = _record(state, offset)
    if epoch != state["leader_knows.producer_epoch", (PARTITION,)]:
        return True  # the leader needs no record of an older epoch: the client has moved on
    return state["leader_knows.offset", (PARTITION, as_int(sequence))] == offset
