"""The spec `idempotence` takes only steps of a version of `idempotence-abstract`: `with-restarts`.

This abstract spec is small enough to be proved for any number of producers, batches and restarts.
It has one log and no follower. The spec `idempotence` is the detailed one. Each of its steps is one
abstract action, several, or none: `steps_of` names them. `walk` explores both specs together. It
reports each detailed step whose abstract actions are not enabled, or lead to a state that does not
match.

The abstract state has the earlier sequence numbers of a batch; the detailed state does not. So an
abstract state cannot be computed from a detailed state: the walk keeps both.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: one partition; no records are deleted, and the client gives up no batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.idempotence.state import Status
from model.idempotence.versions import IdempotentProducer
from model.idempotence_abstract.versions import WithRestarts
from model.language.actions import Action
from model.language.interpreter import Interpreter, State, Value
from properties.refinement.behaviour import as_int

IN_FLIGHT: Final = Status.labels.index("IN_FLIGHT")
ACKED: Final = Status.labels.index("ACKED")
PARTITION: Final = 0
PRODUCER: Final = 0

Call = tuple[str, tuple[int, ...]]
Frozen = frozenset[tuple[object, Value]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Counts of the steps in an exploration of both specs.

    `explained` counts, by abstract action, the detailed steps that this action explains. Its key
    `none` counts the detailed steps that do not change the abstract state. `unexplained` counts, by
    detailed action, the steps that no abstract actions explain.
    """

    pairs: int
    explained: Counter[str]
    unexplained: Counter[str]


@dataclass(frozen=True)
class Simulation:
    """The detailed spec (`detailed`), and the abstract spec that should allow each of its steps."""

    detailed: IdempotentProducer
    version: type[WithRestarts] = WithRestarts

    @cached_property
    def abstract(self) -> WithRestarts:
        offsets = self.detailed.batches * (1 + self.detailed.max_epoch) + 1
        return self.version(
            batches=self.detailed.batches,
            epochs=self.detailed.max_epoch + 1,
            sequences=self.detailed.batches + 1,
            offsets=max(2, offsets),
        )

    def walk(self) -> Walk:
        """Explores both specs together, from their initial states."""
        detailed = Interpreter.of(self.detailed)
        (start,), (abstract,) = (
            detailed.initial(self.detailed),
            self._interpreter.initial(self.abstract),
        )
        explained, unexplained = Counter[str](), Counter[str]()
        todo = [(start, abstract)]
        seen = {(frozenset(start.items()), frozenset(abstract.items()))}
        while todo:
            before, mapped = todo.pop()
            for action, values, after in detailed.steps(self.detailed, before):
                calls = tuple(self.steps_of(action.name, values, before, after))
                reached = self._follow(mapped, calls)
                if reached is None or not self.matches(after, reached):
                    unexplained[action.name] += 1
                    continue
                explained.update({name for name, _ in calls} or {"none"})
                pair = frozenset(after.items()), frozenset(reached.items())
                if pair not in seen:
                    seen.add(pair)
                    todo.append((after, reached))
        return Walk(pairs=len(seen), explained=explained, unexplained=unexplained)

    def steps_of(
        self, name: str, values: tuple[int, ...], before: State, after: State
    ) -> Iterator[Call]:
        """Yields abstract actions, with arguments, that should explain a step of `detailed`."""
        end = as_int(before["log.end_offset", (PARTITION,)])
        match name:
            case "send":
                batch = values[1]
                yield "send", (batch, PRODUCER, self._number(after, batch)[1])
            case "append":
                epoch, sequence = self._number(before, values[1])
                latest = _latest_of(before, epoch, end)
                if latest is None:
                    yield "append_first", (PRODUCER, epoch, end + 1)
                else:
                    yield "append_next", (PRODUCER, sequence, latest, end + 1)
            case "copy":
                yield "advance_high_watermark", (as_int(after["log.high_watermark", (PARTITION,)]),)
            case "acknowledge":
                yield "acknowledge", (values[2],)
            case "change_leader":
                copied = as_int(after["log.end_offset", (PARTITION,)])
                restarted = any(not _is_in_window(after, o) for o in range(copied))
                yield ("restart" if restarted else "change_leader"), (copied,)
            case "refuse":
                larger = as_int(after["producer_epoch", ()])
                yield "refuse", (PRODUCER, self._number(before, values[1])[1], larger)
                yield from self._renumbered(before, after)
            case _:
                return

    def _renumbered(self, before: State, after: State) -> Iterator[Call]:
        for batch in range(self.detailed.batches):
            old, new = self._number(before, batch), self._number(after, batch)
            if before["status", (batch,)] == IN_FLIGHT and old != new:
                yield "renumber", (PRODUCER, *old, new[1])

    def matches(self, detailed: State, abstract: State) -> bool:
        """True if both states have the same log, high watermark, client epoch and open batches."""
        end = as_int(detailed["log.end_offset", (PARTITION,)])
        records = [
            (
                abstract["stamp.producer_epoch", (o,)],
                abstract["stamp.sequence", (o,)],
            )
            for o in range(end)
        ]
        return (
            abstract["end_offset", ()] == end
            and abstract["high_watermark", ()] == detailed["log.high_watermark", (PARTITION,)]
            and abstract["current_epoch", (PRODUCER,)] == detailed["producer_epoch", ()]
            and records == [_record(detailed, o) for o in range(end)]
            and all(
                self._is_answered_alike(detailed, abstract, b) for b in range(self.detailed.batches)
            )
        )

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

    def _follow(self, state: State, calls: tuple[Call, ...]) -> State | None:
        for name, values in calls:
            reached = self._interpreter.step(self._actions[name], state, values)
            if reached is None:
                return None
            state = reached
        return state

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter.of(self.abstract)

    @cached_property
    def _actions(self) -> Mapping[str, Action]:
        return {action.name: action for action in self.abstract.actions}


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
