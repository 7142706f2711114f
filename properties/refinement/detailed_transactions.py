"""The spec `transactions` takes only steps that `transactions-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`transactions-abstract`, is small enough to be proved. The abstract spec has no log, no failover and
no client. Every explored transition of the detailed spec must be one or two abstract actions, or
change nothing in the abstract state.

When the epochs of a producer id run out, the producer of the detailed spec gets a new id. In the
abstract spec, the epochs of the producer continue without a limit. A detailed step is two abstract
steps in two cases: it begins a transaction and adds the first partition, or it begins and aborts a
transaction without a partition.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: transactional ids do not expire, and no log is truncated, because the abstract spec
cannot express these steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.language.interpreter import Interpreter, State, Value
from model.transactions.state import Outcome, TransactionState
from model.transactions.versions import Transactions
from model.transactions_abstract.versions import Transactions as AbstractTransactions
from properties.refinement.behaviour import as_int

ONGOING: Final = TransactionState.labels.index("ONGOING")
PREPARE: Final = TransactionState.labels.index("PREPARE")
COMMIT: Final = Outcome.labels.index("COMMIT")
ABORT: Final = Outcome.labels.index("ABORT")
PRODUCER: Final = 0  # the only abstract producer
EPOCHS: Final = 9  # number of epochs in the abstract spec's exploration

Actions = tuple[str, ...]
Steps = dict[tuple[frozenset[object], frozenset[object]], Actions | None]


@dataclass(frozen=True)
class Refinement:
    """Maps the states of the spec `transactions` to states of the spec `transactions-abstract`."""

    detailed: Transactions

    @cached_property
    def abstract(self) -> AbstractTransactions:
        return AbstractTransactions(
            transactions=self.detailed.transactions,
            partitions=self.detailed.partitions,
            epochs=EPOCHS,
        )

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter.of(self.abstract)

    @cached_property
    def _known(self) -> Steps:
        return {}

    # ---- the mapping

    def abstraction(self, state: State) -> State:
        out: dict[tuple[str, tuple[int, ...]], Value] = {}
        out["current_epoch", (PRODUCER,)] = self._epoch(*self._current(state))
        for p in range(self.detailed.partitions):
            records = _records(state, p)
            seen = [self._epoch(r["producer_id"], r["producer_epoch"]) for r in records]
            out["seen_epoch", (p, PRODUCER)] = max(seen, default=0)
        for k in range(self.detailed.transactions):
            self._transaction(state, k, out)
        return out

    def _transaction(
        self, state: State, k: int, out: dict[tuple[str, tuple[int, ...]], Value]
    ) -> None:
        decided, current = state["decided", (k,)], state["metadata.transaction", ()] == k
        open_now = current and state["metadata.state", ()] == ONGOING
        begun = decided is not None or open_now
        stamped = self._epoch(state["stamp.producer_id", (k,)], state["stamp.producer_epoch", (k,)])
        marking = self._epoch(
            state["marker_stamp.producer_id", (k,)], state["marker_stamp.producer_epoch", (k,)]
        )
        out["producer", (k,)] = PRODUCER
        out["begun", (k,)] = begun
        out["producer_epoch", (k,)] = stamped if begun else 0
        out["committed", (k,)] = decided == COMMIT
        out["aborted", (k,)] = decided == ABORT
        out["marker_epoch", (k,)] = marking if decided is not None else 0
        out["complete", (k,)] = decided is not None and not (
            current and state["metadata.state", ()] == PREPARE
        )
        for p in range(self.detailed.partitions):
            records = _records(state, p)
            added = state["metadata.partitions", (p,)] if open_now else state["addressed", (k, p)]
            closed = [_outcome(records, o) for o, r in enumerate(records) if _is_of(r, k)]
            out["added", (k, p)] = added
            out["marked", (k, p)] = any(
                r["outcome"] is not None and r["transaction"] == k for r in records
            )
            out["written", (k, p)] = bool(closed)
            out["pending", (k, p)] = None in closed
            out["kept", (k, p)] = COMMIT in closed
            out["dropped", (k, p)] = ABORT in closed

    def _current(self, state: State) -> tuple[Value, Value]:
        """Returns the producer id and epoch that are mapped to the current epoch of the abstract
        producer.
        """
        return state["metadata.producer_id", ()], state["metadata.producer_epoch", ()]

    def _epoch(self, producer_id: Value, producer_epoch: Value) -> int:
        return as_int(producer_id) * (self.detailed.max_epoch + 1) + as_int(producer_epoch)

    # ---- the check

    def actions_between(self, before: State, after: State) -> Actions | None:
        """Returns the one or two abstract actions that lead from `before` to `after`.

        Returns () if both detailed states have the same abstract state. Returns None if more than
        two actions would be needed, or if no actions lead to `after`.
        """
        a, b = self.abstraction(before), self.abstraction(after)
        key = frozenset(a.items()), frozenset(b.items())
        if key not in self._known:
            self._known[key] = self._search(a, b)
        return self._known[key]

    def _search(self, before: State, after: State) -> Actions | None:
        if before == after:
            return ()
        firsts = list(self._interpreter.steps(self.abstract, before))
        for action, _, between in firsts:
            if between == after:
                return (action.name,)
        for action, _, between in firsts:
            for then, _, reached in self._interpreter.steps(self.abstract, between):
                if reached == after:
                    return action.name, then.name
        return None


def _records(state: State, p: int) -> list[Mapping[str, Value]]:
    end = as_int(state["log.end_offset", (p,)])
    names = ("outcome", "producer_id", "producer_epoch", "transaction")
    return [{n: state[f"log.record.{n}", (p, o)] for n in names} for o in range(end)]


def _is_of(record: Mapping[str, Value], k: int) -> bool:
    return record["outcome"] is None and record["transaction"] == k


def _outcome(records: list[Mapping[str, Value]], o: int) -> Value:
    markers = (r for r in records[o:] if r["producer_id"] == records[o]["producer_id"])
    return next((r["outcome"] for r in markers if r["outcome"] is not None), None)
