"""The spec `transactions` takes only steps that `read-committed-abstract` allows on one partition.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`read-committed-abstract`, is small enough to be proved. The detailed spec has no reader. Instead,
its predicates define which records a reader at read_committed receives, and at which offset it
stops. After each detailed step, the abstract reader reads up to this offset. Then the abstract
reader must have received exactly the records that the predicates allow, and it must have no further
record to read. The abstract log still contains truncated records, which the detailed log does not
contain.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: there is one partition. No record is outside of transactions, and no leader restarts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import State, Value
from model.read_committed_abstract.versions import ReadCommitted
from model.transactions.state import Offset, Outcome, TopicPartition
from model.transactions.versions import Transactions
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition

COMMIT: Final = Outcome.labels.index("COMMIT")
ABORT: Final = Outcome.labels.index("ABORT")
PARTITION: Final = 0
AT: Final = t.Local(Offset.info, "o")
IN: Final = t.Local(TopicPartition.info, "p")


class Refinement(HistoryMapping[Transactions]):
    @cached_property
    def abstract(self) -> ReadCommitted:
        return ReadCommitted(
            producers=self.detailed.producer_ids + 1,
            transactions=self.detailed.transactions,
            offsets=len(self._detailed.elements(Offset.info)),
        )

    # ---- the mapping

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return [*self._changes(step.before, step.after), *self.reads(abstract, step.after)]

    def _changes(self, before: State, after: State) -> Iterator[Call]:
        """Yields the abstract actions of a step, except the reads of the abstract reader."""
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
        """Yields the next reads of the abstract reader, one for each offset before
        `read_end(after)`. `after` is a state of the detailed spec.
        """
        position = as_int(abstract["position", ()])
        yield from (Call("read", (o + 1,)) for o in range(position, self.read_end(after)))

    def read_end(self, detailed: State) -> int:
        """Returns the offset at which a reader at read_committed stops in a detailed state."""
        return as_int(self._detailed.value(self._end, detailed, {IN.uid: PARTITION}))

    def is_read(self, detailed: State, offset: int) -> bool:
        """Returns True if a reader at read_committed may receive the record at `offset`."""
        return self._detailed.holds(self._read, detailed, {IN.uid: PARTITION, AT.uid: offset})

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields triples: what is compared, its value in the detailed state, and its value in the
        abstract state. Compared are the log, the decisions of the transactions, and the reads.

        The last triple is `a further read`. Its detailed value is None: the abstract reader must
        have no further record to read.
        """
        end = end_of(detailed)
        yield "the log end", end, abstract["end_offset", ()]
        high = detailed["log.high_watermark", (PARTITION,)]
        yield "the high watermark", high, abstract["high_watermark", ()]
        for o in range(end):
            ours = transaction_of(detailed, o), is_marker(detailed, o)
            theirs = abstract["record.transaction", (o,)], abstract["record.is_marker", (o,)]
            yield f"the record at {o}", ours, theirs
        for k in range(self.detailed.transactions):
            yield f"the decision of {k}", detailed["decided", (k,)], _decision(abstract, k)
        position = as_int(abstract["position", ()])
        yield "the reader's position", self.read_end(detailed), position
        for o in range(position):
            yield f"the read of {o}", self.is_read(detailed, o), abstract["delivered", (o,)]
        further = self._abstract.step(self._actions["read"], abstract, (position + 1,))
        yield "a further read", None, further

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
