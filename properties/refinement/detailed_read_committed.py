"""The spec `transactions` takes only steps of `read-committed-abstract`, seen from one partition.

The spec `transactions` is the detailed one. It has no reader. Instead, predicates define which
records a reader at read_committed receives, and at which offset this reader stops. After each
detailed step, the check lets the abstract reader read up to this offset. Then the abstract reader
must have received exactly the records that the predicates allow, and must have no further record to
read.

The abstract log keeps truncated records; the detailed log does not. So an abstract state cannot be
computed from a detailed state. `walk` explores both specs together, and reports each detailed step
whose abstract actions are not enabled, or lead to a state that does not match.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: one partition; no record is outside of transactions, and no leader restarts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import Interpreter, State, Value
from model.language.spec import Action
from model.read_committed_abstract.versions import ReadCommitted
from model.transactions.state import Offset, Outcome, TopicPartition
from model.transactions.versions import Transactions
from properties.refinement.behaviour import Call, as_int

COMMIT: Final = Outcome.labels.index("COMMIT")
ABORT: Final = Outcome.labels.index("ABORT")
PARTITION: Final = 0
AT: Final = t.Local(Offset.info, "o")
IN: Final = t.Local(TopicPartition.info, "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Counts of the steps in an exploration of `transactions` with `read-committed-abstract`.

    `explained` counts, by abstract action, the detailed steps that this action explains. Its key
    `none` counts the detailed steps that do not change the abstract state. `unexplained` counts, by
    detailed action, the steps that no abstract actions explain.
    """

    pairs: int
    explained: Counter[str]
    unexplained: Counter[str]


@dataclass(frozen=True)
class Simulation:
    """A version of `transactions` and the abstract spec that should simulate it."""

    detailed: Transactions

    @cached_property
    def abstract(self) -> ReadCommitted:
        return ReadCommitted(
            producers=self.detailed.producer_ids + 1,
            transactions=self.detailed.transactions,
            offsets=len(self._detailed.elements(Offset.info)),
        )

    def walk(self) -> Walk:
        """Explores both specs together, from their initial states."""
        (start,) = self._detailed.initial(self.detailed)
        abstract = self._interpreter.initial(self.abstract)[0]
        explained, unexplained = Counter[str](), Counter[str]()
        todo = [(start, abstract)]
        seen = {(frozenset(start.items()), frozenset(abstract.items()))}
        while todo:
            before, mapped = todo.pop()
            for action, _, after in self._detailed.steps(self.detailed, before):
                calls = [*self.calls(before, after), *self.reads(mapped, after)]
                reached = self._follow(mapped, calls)
                if reached is None or not self.matches(after, reached):
                    unexplained[action.name] += 1
                    continue
                explained.update({call.action for call in calls} or {"none"})
                pair = frozenset(after.items()), frozenset(reached.items())
                if pair not in seen:
                    seen.add(pair)
                    todo.append((after, reached))
        return Walk(pairs=len(seen), explained=explained, unexplained=unexplained)

    # ---- the mapping

    def calls(self, before: State, after: State) -> Iterator[Call]:
        """Yields the abstract actions that explain a step of the detailed spec.

        These are actions of clients, coordinator and leader, such as `append_first`, not of the
        reader.
        """
        for k in range(self.detailed.transactions):
            if _changed("owner", (k,), before, after):
                yield Call("begin", (k, as_int(after["stamp.producer_id", (k,)])))
            if _changed("decided", (k,), before, after):
                yield Call("commit" if after["decided", (k,)] == COMMIT else "abort", (k,))
        old, end = end_of(before), end_of(after)
        if _changed("leader_epoch", (PARTITION,), before, after):
            yield Call("change_leader", (end,))
        elif old < end:
            name = "write_marker" if is_marker(after, old) else "append_first"
            yield Call(name, (transaction_of(after, old), end))
        if _changed("log.high_watermark", (PARTITION,), before, after):
            yield Call(
                "advance_high_watermark", (as_int(after["log.high_watermark", (PARTITION,)]),)
            )

    def reads(self, abstract: State, after: State) -> Iterator[Call]:
        """Yields the abstract reader's next reads, as far as the detailed spec lets it read."""
        position = as_int(abstract["position", ()])
        yield from (Call("read", (o + 1,)) for o in range(position, self.read_end(after)))

    def read_end(self, detailed: State) -> int:
        """Returns `read_committed_end` of the detailed spec: the offset at which a reader stops."""
        return as_int(self._detailed.value(self._end, detailed, {IN.uid: PARTITION}))

    def is_read(self, detailed: State, offset: int) -> bool:
        """True if the detailed spec lets a read_committed reader receive the record at `offset`."""
        return self._detailed.holds(self._read, detailed, {IN.uid: PARTITION, AT.uid: offset})

    def matches(self, detailed: State, abstract: State) -> bool:
        """True if both states have the same decisions, the same log, and the same reads.

        The abstract reader must have no further record to read.
        """
        end, transactions = end_of(detailed), range(self.detailed.transactions)
        log = [
            (abstract["record.transaction", (o,)], abstract["record.is_marker", (o,)])
            for o in range(end)
        ]
        position = as_int(abstract["position", ()])
        further = self._interpreter.step(self._actions["read"], abstract, (position + 1,))
        return (
            abstract["end_offset", ()] == end
            and abstract["high_watermark", ()] == detailed["log.high_watermark", (PARTITION,)]
            and log == [(transaction_of(detailed, o), is_marker(detailed, o)) for o in range(end)]
            and [_decision(abstract, k) for k in transactions]
            == [detailed["decided", (k,)] for k in transactions]
            and position == self.read_end(detailed)
            and all(
                abstract["delivered", (o,)] == self.is_read(detailed, o) for o in range(position)
            )
            and further is None
        )

    def _follow(self, state: State, calls: list[Call]) -> State | None:
        for call in calls:
            reached = self._interpreter.step(self._actions[call.action], state, call.arguments)
            if reached is None:
                return None
            state = reached
        return state

    @cached_property
    def _detailed(self) -> Interpreter:
        return Interpreter.of(self.detailed)

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter.of(self.abstract)

    @cached_property
    def _actions(self) -> Mapping[str, Action]:
        return {action.name: action for action in self.abstract.actions}

    @cached_property
    def _end(self) -> t.Node:
        return self.detailed.read_committed_end(wrap(TopicPartition, IN)).node

    @cached_property
    def _read(self) -> t.Node:
        return self.detailed.is_read_committed(wrap(TopicPartition, IN), wrap(Offset, AT)).node


def end_of(detailed: State) -> int:
    return as_int(detailed["log.end_offset", (PARTITION,)])


def transaction_of(detailed: State, offset: int) -> int:
    return as_int(detailed["log.record.transaction", (PARTITION, offset)])


def is_marker(detailed: State, offset: int) -> bool:
    return detailed["log.record.outcome", (PARTITION, offset)] is not None


def _decision(abstract: State, transaction: int) -> Value:
    if abstract["committed", (transaction,)]:
        return COMMIT
    return ABORT if abstract["aborted", (transaction,)] else None


def _changed(name: str, keys: tuple[int, ...], before: State, after: State) -> bool:
    return before[name, keys] != after[name, keys]
