"""The spec `transactions` takes only steps that `coordinator-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`coordinator-abstract`, is small enough to be proved. In contrast to the abstract spec, the detailed
spec has logs of partitions, errors and the verification of transactions. One detailed step may be
two abstract steps: a client's request, and the coordinator's append. If the constants of the
detailed spec exclude failed coordinators and failed appends, the step also commits the append,
which is a third abstract step. The partitions must accept the same markers in the detailed state
and in its abstract state.

In the abstract log, a record without a transaction still names the previous transaction, and a
tombstone still names the previous producer id. The detailed records have neither of the two. So the
mapping computes the previous transaction from all decisions, and the previous producer id from the
number of assigned ids.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: there is one transactional id, because the spec `transactions` has only one. No log is
truncated. A transactional id expires only if no coordinator fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Final

from model.coordinator_abstract.state import ProducerEpoch as AbstractEpoch
from model.coordinator_abstract.state import ProducerId as AbstractId
from model.coordinator_abstract.state import TopicPartition as AbstractPartition
from model.coordinator_abstract.versions import AbstractCoordinator
from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import State, Value
from model.transactions.state import (
    Outcome,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    TransactionState,
)
from model.transactions.versions import Transactions
from model.variants import Constants
from properties.refinement.behaviour import Call, as_int
from properties.refinement.state_mapping import Agreement, StateMapping, Step

DEAD, EMPTY, ONGOING, PREPARE, COMPLETE = TransactionState.labels
COMMIT: Final = Outcome.labels.index("COMMIT")
ABORT: Final = Outcome.labels.index("ABORT")
ID: Final = 0  # the only transactional id
DETAILED: Final = (
    t.Local(TopicPartition.info, "p"),
    t.Local(ProducerId.info, "i"),
    t.Local(ProducerEpoch.info, "e"),
)
ABSTRACT: Final = (
    t.Local(AbstractPartition.info, "t"),
    t.Local(AbstractId.info, "p"),
    t.Local(AbstractEpoch.info, "e"),
)

Cells = dict[tuple[str, tuple[int, ...]], Value]


class Refinement(StateMapping[Transactions]):
    @cached_property
    def abstract(self) -> AbstractCoordinator:
        return AbstractCoordinator(**self.bounds())

    def bounds(self) -> Constants:
        """Returns constants of the abstract spec, so that the abstract spec has a value for every
        client, transaction and epoch of the detailed spec.
        """
        return {
            "transactional_ids": 1,
            "instances": self.detailed.instances,
            "transactions": self.detailed.transactions,
            "partitions": self.detailed.partitions,
            "producer_ids": self.detailed.producer_ids,
            "producer_epochs": self.detailed.max_epoch + 1,
            "coordinator_epochs": self.detailed.coordinator_failures + 1,
        }

    # ---- states

    def abstraction(self, state: State) -> State:
        out: Cells = {
            ("last_epoch", ()): self.detailed.max_epoch,
            ("coordinator_epoch", ()): state["coordinator_epoch", ()],
            ("answering", (ID,)): state["answering", ()],
            ("is_appending", (ID,)): _is_appending(state),
        }
        self._metadata(state, "transaction_state.committed.", "log.", out)
        self._metadata(state, "transaction_state.appended.", "appended.", out)
        for i in range(self.detailed.instances):
            producer_id = state["producer.producer_id", (i,)]
            out["is_ready", (i,)] = producer_id is not None
            out["held.transactional_id", (i,)] = ID
            out["held.producer_id", (i,)] = producer_id or 0
            out["held.producer_epoch", (i,)] = state["producer.producer_epoch", (i,)]
        for p in range(self.detailed.producer_ids):
            assigned = p < as_int(state["next_producer_id", ()])
            out["assigned", (p,)] = ID if assigned else None
        for k in range(self.detailed.transactions):
            self._transaction(state, k, out)
        for p in range(self.detailed.partitions):
            self._partition(state, p, out)
        return out

    def _metadata(self, state: State, of: str, to: str, out: Cells) -> None:
        m = {name: state[of + name, ()] for name in _SCALARS}
        known_as = TransactionState.labels[as_int(m["state"])]
        is_decided = known_as in {PREPARE, COMPLETE}
        rotates = is_decided and m["next_id"] != m["previous_id"]
        marked = self.detailed.max_epoch if rotates else as_int(m["producer_epoch"])
        producer_id = m["next_id"] if known_as != DEAD else self._last_id(state)
        has_transaction = is_decided or known_as == ONGOING
        values = {
            "is_known": known_as != DEAD,
            "is_ongoing": known_as == ONGOING,
            "is_prepared": known_as == PREPARE,
            "is_complete": known_as == COMPLETE,
            "commits": is_decided and m["outcome"] == COMMIT,
            "producer_id": producer_id,
            "producer_epoch": 0 if rotates else m["producer_epoch"],
            "transaction": m["transaction"] if has_transaction else self._last_decided(state),
            "last_id": m["previous_id"] if is_decided else producer_id,
            "last_epoch": (
                self._epoch_before(state, as_int(m["transaction"]), marked) if is_decided else 0
            ),
            "marker_epoch": marked if is_decided else 0,
        }
        out.update({(to + name, (ID,)): value for name, value in values.items()})
        for p in range(self.detailed.partitions):
            out[f"{to}partitions", (ID, p)] = state[f"{of}partitions", (p,)]

    def _epoch_before(self, state: State, transaction: int, marker_epoch: int) -> int:
        """Returns the producer epoch that the transaction had before its commit or abort.

        In transaction version 2, it is the epoch of the transaction's markers minus 1.
        """
        return marker_epoch - 1

    def _last_id(self, state: State) -> int:
        """Returns the producer id that a tombstone has in the abstract state.

        It is the id that was assigned last. It is 0 if no id was assigned, or if producer ids do
        not expire in the detailed spec.
        """
        assigned = as_int(state["next_producer_id", ()])
        return max(0, assigned - 1) if self.detailed.ids_expire else 0

    def _last_decided(self, state: State) -> int:
        """Returns the decided transaction whose markers have the highest producer id and epoch, or
        0 if no transaction is decided.
        """
        decided = [
            (
                as_int(state["marker_stamp.producer_id", (k,)]),
                as_int(state["marker_stamp.producer_epoch", (k,)]),
                k,
            )
            for k in range(self.detailed.transactions)
            if state["decided", (k,)] is not None
        ]
        return max(decided, default=(0, 0, 0))[-1]

    def _transaction(self, state: State, k: int, out: Cells) -> None:
        decided, owner = state["decided", (k,)], state["owner", (k,)]
        is_ongoing = state["metadata.transaction", ()] == k and (
            TransactionState.labels[as_int(state["metadata.state", ()])] == ONGOING
        )
        out["begun", (k,)] = owner is not None
        out["client", (k,)] = owner or 0
        out["stamp.transactional_id", (k,)] = ID
        out["stamp.producer_id", (k,)] = state["stamp.producer_id", (k,)]
        out["stamp.producer_epoch", (k,)] = state["stamp.producer_epoch", (k,)]
        out["commit_requested", (k,)] = state["requested", (k,)] == COMMIT
        out["abort_requested", (k,)] = state["requested", (k,)] == ABORT
        out["confirmed", (k,)] = state["end_confirmed", (k,)]
        out["committed", (k,)] = decided == COMMIT
        out["aborted", (k,)] = decided == ABORT
        out["marker_epoch", (k,)] = (
            state["marker_stamp.producer_epoch", (k,)] if decided is not None else 0
        )
        for p in range(self.detailed.partitions):
            now = is_ongoing and state["metadata.partitions", (p,)]
            out["added", (k, p)] = now or state["addressed", (k, p)]

    def _partition(self, state: State, p: int, out: Cells) -> None:
        records = _records(state, p)
        for i in range(self.detailed.producer_ids):
            of_id = [r for r in records if r["producer_id"] == i]
            markers = [r for r in of_id if r["outcome"] is not None]
            out["seen_epoch", (p, i)] = max((as_int(r["producer_epoch"]) for r in of_id), default=0)
            out["seen_coordinator", (p, i)] = max(
                (as_int(r["coordinator_epoch"]) for r in markers), default=0
            )
        for k in range(self.detailed.transactions):
            ends = [_outcome(records, o) for o, r in enumerate(records) if _is_of(r, k)]
            out["marked", (k, p)] = any(
                r["outcome"] is not None and r["transaction"] == k for r in records
            )
            out["pending", (k, p)] = None in ends
            out["kept", (k, p)] = COMMIT in ends
            out["dropped", (k, p)] = ABORT in ends

    # ---- steps

    def calls(self, step: Step) -> list[Call]:
        """Returns the abstract actions that explain a step.

        The list is empty if the step has no abstract action, for example if a client sends a
        record.
        """
        return [*self._requests(step), *self._actions_of(step), *self._commits(step)]

    def _requests(self, step: Step) -> Iterator[Call]:
        """Yields the abstract action of a client for each transaction whose commit or abort the
        client requests in this step.
        """
        for k in range(self.detailed.transactions):
            outcome = step.after["requested", (k,)]
            if step.before["requested", (k,)] != outcome:
                yield Call("request_commit" if outcome == COMMIT else "request_abort", (k,))

    def _actions_of(self, step: Step) -> list[Call]:
        appended = {name: step.after[f"transaction_state.appended.{name}", ()] for name in _SCALARS}
        producer_epoch, next_id = as_int(appended["producer_epoch"]), as_int(appended["next_id"])
        match step.action, step.arguments:
            case ("begin" | "fail_over") as name, arguments:
                return [Call(name, arguments)]
            case ("commit_append" | "expire" | "complete") as name, ():
                return [Call(name, (ID,))]
            case "init_producer" as name, (i,):
                return [Call(name, (ID, i, next_id, producer_epoch))]
            case "add_partition" as name, (p, k):
                return [Call(name, (k, p))]
            case "append_record", (p, k):
                return [Call("append", (k, p))]
            case "end", (k, outcome):
                prepare = "prepare_commit" if outcome == COMMIT else "prepare_abort"
                return [Call(prepare, (k, producer_epoch, next_id))]
            case "fence" as name, ():
                return [Call(name, (ID, producer_epoch, next_id))]
            case "receive_end" as name, (k, _, _):
                return [Call(name, (k,))]
            case "write_marker" as name, (p, k):
                return [Call(name, (k, p, as_int(step.before["coordinator_epoch", ()])))]
            case "write_late_marker", (p, k, epoch):
                return [Call("write_marker", (k, p, epoch))]
            case _:
                return []

    def _commits(self, step: Step) -> Iterator[Call]:
        """Yields the abstract action `commit_append` if the step both makes an append and commits
        it.
        """
        if step.action in _APPENDS and not self.detailed.appends_wait():
            yield Call("commit_append", (ID,))

    # ---- markers

    def agreements(self) -> list[Agreement]:
        p, i, e = DETAILED
        detailed = self.detailed.accepts_marker(
            wrap(TopicPartition, p), wrap(ProducerId, i), wrap(ProducerEpoch, e)
        )
        q, j, f = ABSTRACT
        abstract = self.abstract.accepts_marker(
            wrap(AbstractPartition, q), wrap(AbstractId, j), wrap(AbstractEpoch, f)
        )
        choices = product(
            range(self.detailed.partitions),
            range(self.detailed.producer_ids),
            range(self.detailed.max_epoch + 1),
        )
        uids = [(a.uid, b.uid) for a, b in zip(DETAILED, ABSTRACT, strict=True)]
        of = [
            {uid: value for pair, value in zip(uids, chosen, strict=True) for uid in pair}
            for chosen in choices
        ]
        return [Agreement(detailed=detailed.node, abstract=abstract.node, of=of)]


_SCALARS: Final = (
    "state",
    "outcome",
    "producer_id",
    "producer_epoch",
    "previous_id",
    "next_id",
    "transaction",
)
_APPENDS: Final = {"init_producer", "expire", "add_partition", "end", "fence", "complete"}


def _is_appending(state: State) -> bool:
    before, last = "transaction_state.committed.", "transaction_state.appended."
    return any(
        state[last + name.removeprefix(before), keys] != value
        for (name, keys), value in state.items()
        if name.startswith(before)
    )


def _records(state: State, p: int) -> list[Mapping[str, Value]]:
    end = as_int(state["log.end_offset", (p,)])
    names = ("outcome", "producer_id", "producer_epoch", "coordinator_epoch", "transaction")
    return [{n: state[f"log.record.{n}", (p, o)] for n in names} for o in range(end)]


def _is_of(record: Mapping[str, Value], k: int) -> bool:
    return record["outcome"] is None and record["transaction"] == k


def _outcome(records: list[Mapping[str, Value]], o: int) -> Value:
    """Returns the outcome in the first marker of the same producer after the record at offset `o`.
    Returns None if the log has no such marker.
    """
    markers = (r for r in records[o:] if r["producer_id"] == records[o]["producer_id"])
    return next((r["outcome"] for r in markers if r["outcome"] is not None), None)
