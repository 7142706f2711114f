"""Maps the events of one transactional id of a real cluster to actions of the spec
`transactions-abstract`.

The coordinator appends each change of a transaction to `__transaction_state` as a record. The
change is applied to the spec when a log line reports that the record is replicated. If the
coordinator fails earlier, the change is applied just before the next coordinator sends a marker.
Two actions of the spec need an explanation:

    write_marker    is taken for every added partition when the coordinator has all answers
    append          is never taken, because no line about a transactional id shows an append to a
                    partition; so a trace does not check the claims about records

The version of the spec is `v2` if the lines about open transactions name transaction version 2
(TV_2), and `v1` otherwise. If the coordinator itself begins an abort, this abort is the action
`fence`. The line of this abort has no effect on the version of the spec, because it names the
transaction version of the cluster and not the version of the client.

Source: KIP-98; KIP-890; `model.transactions_abstract.versions`.
Simplified: producer ids are not replaced, and transactional ids do not expire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, Self

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import ElementNames, Outcome, Refused, done
from checkers.tracing.transaction_lines import TransactionStep
from model.language.rows import RowState
from model.transactions_abstract.versions import Transactions, Version1
from properties.refinement.behaviour import ANY, Behaviour, Taken

SPEC: Final = "transactions-abstract"
EPOCHS_BUMPED: Final = "TV_2"  # a decision moves the producer to a larger epoch
NO_VERSION: Final = "TV_0"  # before 4.0, lines of Kafka name no transaction version
_RESULTS: Final = {"COMMIT": "committed", "ABORT": "aborted"}


class Metadata(NamedTuple):
    state: str
    producer: int
    epoch: int
    partitions: frozenset[str]
    coordinator_epoch: int

    @property
    def result(self) -> str:
        """COMMIT or ABORT if the coordinator has decided the transaction. Otherwise, the text is
        empty.
        """
        return self.state.rpartition("_")[2] if self.is_decided else ""

    @property
    def is_decided(self) -> bool:
        return self.state.startswith(("PREPARE_COMMIT", "PREPARE_ABORT", "COMPLETE_"))

    @property
    def is_complete(self) -> bool:
        return self.state.startswith("COMPLETE_")


class Position(NamedTuple):
    """A position in the trace: the spec's state after the events so far, and facts that the
    state does not contain.
    """

    state: RowState
    metadata: Metadata | None
    appended: Metadata | None  # a change that was appended and is not yet confirmed
    early: Metadata | None  # a change that was confirmed before the line of its append
    transaction: int  # the number of the last one that began; -1 before the first
    sent: frozenset[str]  # partitions that a marker of this transaction was sent to
    coordinator: int  # the newest coordinator epoch that sent a marker
    taken: Taken | None  # the last action


@dataclass(slots=True)
class TransactionalId:
    behaviour: Behaviour
    partitions: Mapping[str, int]  # name -> topic partition of the spec
    _metadata: Metadata | None = None
    _appended: Metadata | None = None
    _early: Metadata | None = None
    _transaction: int = -1
    _sent: frozenset[str] = frozenset()
    _coordinator: int = -1

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self | Refused:
        versions = {
            e.fields.get("version", NO_VERSION)
            for e in events
            if e.fields.get("state") == "ONGOING"
        }
        if len(versions) > 1 and EPOCHS_BUMPED in versions:
            return Refused("the client changes its transaction version", is_outside=True)
        names = sorted(
            {name for e in events if "partitions" in e.fields for name in e.names("partitions")}
        )
        begins = sum(e.fields.get("state") in ("ONGOING", "PREPARE_ABORT") for e in events)
        sorts: dict[str, int | range] = {
            "Producer": 1,
            "Transaction": begins + 1,
            "TopicPartition": max(len(names), 1),
            "ProducerEpoch": ANY,
        }
        behaviour = Behaviour.initial(
            _spec(EPOCHS_BUMPED if EPOCHS_BUMPED in versions else ""), sorts, (0,)
        )
        return cls(behaviour, {name: k for k, name in enumerate(names)})

    @property
    def elements(self) -> ElementNames:
        return {"TopicPartition": [*self.partitions]}

    @property
    def position(self) -> Position:
        return Position(
            self.behaviour.state,
            self._metadata,
            self._appended,
            self._early,
            self._transaction,
            self._sent,
            self._coordinator,
            self.behaviour.last,
        )

    def back_to(self, position: Position) -> None:
        self.behaviour.state, self.behaviour.last = position.state, position.taken
        self._metadata, self._appended = position.metadata, position.appended
        self._early, self._transaction = position.early, position.transaction
        self._sent, self._coordinator = position.sent, position.coordinator

    def take(self, event: Event) -> Outcome:
        before = self.position
        refused = _STEPS[TransactionStep(event.step)](self, event)
        if refused is not None:
            self.back_to(before)
        return refused

    def shown(self, event: Event) -> Iterator[str]:
        del event
        now, state, x = self._metadata, self.behaviour.state, self._transaction
        if now is None:
            yield "coordinator: nothing is known of the transactional id"
        else:
            yield (
                f"coordinator: {now.state}, producer {now.producer}, epoch {now.epoch},"
                f" partitions {sorted(now.partitions)}"
            )
        if x >= 0:
            has = [name for name in ("committed", "aborted", "complete") if state[name, (x,)]] or [
                "open"
            ]
            added = [name for name, t in self.partitions.items() if state["added", (x, t)]]
            marked = [name for name, t in self.partitions.items() if state["marked", (x, t)]]
            yield f"transaction {x}: {', '.join(has)}; added {added}, marked {marked}"

    # ---- the coordinator

    def _append(self, event: Event) -> Outcome:
        after, waiting = _metadata_of(event), self._appended
        if self._early is not None:
            is_same, self._early = after == self._early, None
            return None if is_same else Refused("the change before was never appended")
        if waiting is not None and waiting.coordinator_epoch == after.coordinator_epoch:
            return Refused("the change before was neither confirmed nor refused")
        self._appended = after
        return None

    def _fail(self, event: Event) -> Outcome:
        del event
        self._appended = None
        return None

    def _change(self, event: Event) -> Outcome:
        after = _metadata_of(event)
        if self._early is not None:
            return Refused("the change before was never appended")
        if self._appended is None:  # Kafka logs an append after its effect
            self._early = after
        elif after != self._appended:
            return Refused("the change is not the one that the coordinator appended last")
        self._appended = None
        if after.coordinator_epoch < self._coordinator:
            return Refused(f"coordinator epoch {self._coordinator} has sent markers before")
        before = self._metadata
        if before is not None and after.is_complete and not before.is_decided:
            return Refused(f"the transaction is {before.state} and completes without a decision")
        return self._move(after)

    def _move(self, after: Metadata) -> Outcome:
        before, self._metadata = self._metadata, after
        if before is not None and after.producer != before.producer:
            return Refused("the producer id of the transactional id changes", is_outside=True)
        if after.state == "ONGOING":
            is_new = before is None or before.state != "ONGOING" or before.epoch != after.epoch
            begun = self._begin(after) if is_new else None
            return begun or self._add(after)
        if after.state in ("PREPARE_COMMIT", "PREPARE_ABORT"):
            begun = None
            if before is None or before.state != "ONGOING":  # an abort without a transaction
                begun = self._begin(after)
            return begun or self._add(after) or self._end(after)
        if after.is_complete:
            return self._complete(after)
        if after.state == "EMPTY":
            known = -1 if before is None else before.epoch
            is_new = after.epoch > max(known, 0)
            return self._do("init_producer", 0, after.epoch) if is_new else None
        return Refused(f"the transactional id is {after.state}", is_outside=True)

    def _begin(self, after: Metadata) -> Outcome:
        self._transaction, self._sent = self._transaction + 1, frozenset()
        refused = self._do("begin", self._transaction, 0)
        return refused or self._epoch_differs(after, "producer_epoch", (self._transaction,))

    def _epoch_differs(self, after: Metadata, name: str, keys: tuple[int, ...]) -> Outcome:
        expected = self.behaviour.state[name, keys]
        if after.state == "ONGOING" and after.epoch != expected:
            return Refused(f"producer epoch: the line has {after.epoch}, the spec {expected}")
        return None

    def _add(self, after: Metadata) -> Outcome:
        for name in sorted(after.partitions):
            t = self.partitions.get(name)
            if t is None:
                return Refused(f"partition {name} comes from nowhere")
            if not self.behaviour.state["added", (self._transaction, t)]:
                refused = self._do("add_partition", self._transaction, t)
                if refused is not None:
                    return refused
        return None

    def _end(self, after: Metadata) -> Outcome:
        if after.result == "COMMIT":
            return self._do("end_commit", self._transaction, after.epoch)
        refused = self._do("end_abort", self._transaction, after.epoch)
        return refused and self._do("fence", self._transaction, after.epoch)

    def _complete(self, after: Metadata) -> Outcome:
        x, state = self._transaction, self.behaviour.state
        if x < 0 or not state[_RESULTS[after.result], (x,)]:
            return Refused(f"no transaction is {_RESULTS[after.result]}")
        refused = None if state["complete", (x,)] else self._do("complete_transaction", x)
        if refused is None and self.behaviour.state["current_epoch", (0,)] != after.epoch:
            return self._do("init_producer", 0, after.epoch)  # the next instance
        return refused

    # ---- markers

    def _send_marker(self, event: Event) -> Outcome:
        refused = self._confirm_decision(event)
        if refused is not None:
            return refused
        x, state = self._transaction, self.behaviour.state
        now = self._metadata
        if now is None or now.producer != event.number("producer"):
            return Refused(f"the marker has producer id {event.number('producer')}")
        if event.number("coordinator") < now.coordinator_epoch:
            return Refused(f"the marker has coordinator epoch {event.number('coordinator')}")
        if state["marker_epoch", (x,)] != event.number("epoch"):
            return Refused(
                f"marker epoch: the line has {event.number('epoch')}, the spec"
                f" {state['marker_epoch', (x,)]}"
            )
        for name in sorted(event.names("partitions")):
            t = self.partitions.get(name)
            if t is None or not state["added", (x, t)]:
                return Refused(f"a marker goes to {name}, which is not added to the transaction")
        self._sent |= event.names("partitions")
        self._coordinator = max(self._coordinator, event.number("coordinator"))
        return None

    def _confirm_decision(self, event: Event) -> Outcome:
        appended, result = self._appended, event.text("result")
        if appended is not None and appended.coordinator_epoch < event.number("coordinator"):
            # A failed coordinator may have appended its decision without a line that confirms it.
            # Then the next coordinator's marker confirms the decision, and its actions are taken
            # first.
            self._appended = None
            refused = self._move(appended)
            if refused is not None:
                return refused
        return self._is_decided(result)

    def _is_decided(self, result: str) -> Outcome:
        x = self._transaction
        if x < 0 or not self.behaviour.state[_RESULTS[result], (x,)]:
            return Refused(f"no transaction is {_RESULTS[result]}")
        return None

    def _marked(self, event: Event) -> Outcome:
        kind, _, result = event.text("state").rpartition("_")
        refused = self._is_decided(result)
        if kind != "COMPLETE":
            return Refused(f"after its markers a transaction does not become {event.text('state')}")
        if refused is not None:
            return refused
        x = self._transaction
        for name, t in self.partitions.items():
            state = self.behaviour.state
            if state["added", (x, t)] and name not in self._sent:
                return Refused(f"no marker was sent to {name}")
            if state["added", (x, t)] and not state["marked", (x, t)]:
                refused = self._do("write_marker", x, t)
                if refused is not None:
                    return refused
        return None

    def _do(self, action: str, *arguments: int) -> Outcome:
        return done(self.behaviour, action, *arguments)


def _metadata_of(event: Event) -> Metadata:
    return Metadata(
        event.text("state"),
        event.number("producer"),
        event.number("epoch"),
        event.names("partitions"),
        event.number("coordinator"),
    )


@cache
def _spec(version: str) -> Transactions:
    return Transactions() if version == EPOCHS_BUMPED else Version1()


_STEPS: Final[Mapping[TransactionStep, Callable[[TransactionalId, Event], Outcome]]] = {
    TransactionStep.APPEND: TransactionalId._append,
    TransactionStep.FAIL: TransactionalId._fail,
    TransactionStep.CHANGE: TransactionalId._change,
    TransactionStep.SEND_MARKER: TransactionalId._send_marker,
    TransactionStep.MARKED: TransactionalId._marked,
}
