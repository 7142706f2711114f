"""The events of one partition of a real cluster, as actions of `replication-abstract`.

Each event becomes one or more actions with all their arguments, or a comparison with the state, or
both. The spec decides whether the actions are allowed. The mapping itself compares only what a line
repeats: an offset, an epoch, a high watermark.

    isr[e]           the ISR and the ELR of the registration
    fetch_request    is taken when the follower sends the fetch; but if the leader had not begun to
                     lead at that time, it is taken when the leader records the fetch
    drop_member      no line shows when a leader stops waiting for a replica that left the ISR; so
                     it is taken, if the spec allows it, when the high watermark needs it
    message          the number of the append; records have no content in a trace

A reassignment, a follower that starts its log at an offset, and a leader that is elected from
outside of ISR and ELR are no steps of the spec. The first two are reported as *outside*. The third
is a step that the spec forbids: it may lose records.

Source: `model.replication_abstract.actions`; KIP-101; KIP-497; KIP-966.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, Self

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Outcome, Refused
from checkers.tracing.registrations import (
    NO_LEADER,
    REASSIGNMENT,
    Registration,
    Registrations,
)
from checkers.tracing.replication_lines import Step, creates
from checkers.tracing.replication_state import ReplicationState
from model.language.rows import RowState
from model.replication_abstract.versions import ReplicationProof
from properties.refinement.behaviour import ANY, Behaviour, Call, as_int
from properties.refinement.log_entries import last_offset

SPEC: Final = "replication-abstract"


class Position(NamedTuple):
    """A point in a trace: the state of the spec there, and facts that the state lacks."""

    state: RowState
    registrations: Registrations
    loaded: frozenset[int]  # brokers that have loaded the log at least once
    messages: int  # appended so far
    sent: Mapping[int, Mapping[int, int]]  # broker -> leader epoch -> its last fetch offset
    heard: Mapping[int, int]  # the high watermark in the response that a broker handles
    learned: Mapping[int, int]  # the newest partition epoch that each broker knows
    taken: Counter[str]  # actions


@dataclass(slots=True)
class PartitionReplication:
    """One partition of a real cluster, at the point that its trace has reached."""

    behaviour: Behaviour
    replicas: Mapping[int, int]  # broker id -> replica of the spec
    _registrations: Registrations
    _loaded: frozenset[int] = frozenset()
    _messages: int = 0
    _sent: Mapping[int, Mapping[int, int]] = field(default_factory=dict[int, Mapping[int, int]])
    _heard: Mapping[int, int] = field(default_factory=dict[int, int])
    _learned: Mapping[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self | Refused:
        """Returns the partition just after its creation, the first event of the trace.

        Returns a refusal if the trace begins after the creation.
        """
        created = next(filter(creates, events), None)
        if created is None:
            return Refused("no event creates the partition", is_outside=True)
        first = Registration.created(created)
        is_new = first.partition_epoch == first.leader_epoch == 0
        if not is_new or first.isr != created.members("replicas") or first.elr:
            return Refused(
                "the trace does not begin with the creation of the partition", is_outside=True
            )
        if first.leader not in first.isr:
            return Refused("the leader of a new partition is not in its ISR")
        replicas = {broker: k for k, broker in enumerate(sorted(created.members("replicas")))}
        sorts: dict[str, int | range] = {
            "Replica": len(replicas),
            "LeaderEpoch": _greatest(events, _EPOCHS) + 2,
            "Offset": _greatest(events, _OFFSETS) + 3,
            "Message": ANY,
        }
        leader = replicas[first.leader]
        behaviour = Behaviour.initial(_spec(), sorts, (leader, 0))
        return cls(behaviour, replicas, Registrations.created(created))

    @property
    def position(self) -> Position:
        return Position(
            self.behaviour.state,
            self._registrations,
            self._loaded,
            self._messages,
            self._sent,
            self._heard,
            self._learned,
            self.behaviour.taken,
        )

    def back_to(self, position: Position) -> None:
        self.behaviour.state, self.behaviour.taken = position.state, position.taken
        self._registrations, self._loaded = position.registrations, position.loaded
        self._messages, self._sent = position.messages, position.sent
        self._heard, self._learned = position.heard, position.learned

    def take(self, event: Event) -> Outcome:
        before = self.position
        self.behaviour.taken = before.taken.copy()
        refused = self._unknown_broker(event) or _STEPS[Step(event.step)](self, event)
        if refused is not None:
            self.back_to(before)
        return refused

    def shown(self, event: Event) -> Iterator[str]:
        return self._now.shown(self._registrations.current, event.line.node)

    @property
    def _now(self) -> ReplicationState:
        return ReplicationState(self.behaviour.state, self.replicas)

    def _unknown_broker(self, event: Event) -> Outcome:
        named = {event.line.node} if event.step not in _OF_CONTROLLER else set[int]()
        named |= {event.number(n) for n in ("follower", "member") if n in event.fields}
        others = sorted(named - self.replicas.keys())
        return Refused(f"broker {others[0]} is no replica of the partition") if others else None

    def _do(self, action: str, *arguments: int) -> Outcome:
        refusal = self.behaviour.take(Call(action, arguments))
        return None if refusal is None else Refused(str(refusal))

    def _do_if_allowed(self, action: str, *arguments: int) -> None:
        self.behaviour.take(Call(action, arguments))

    def _all(self, calls: Iterator[tuple[str, tuple[int, ...]]]) -> Outcome:
        for action, arguments in calls:
            refused = self._do(action, *arguments)
            if refused is not None:
                return refused
        return None

    # ---- the controller

    def _create(self, event: Event) -> Outcome:
        why = self._registrations.unlike(
            event, isr=event.members("isr"), leader=event.number("leader")
        )
        return Refused(why) if why else None

    def _change(self, event: Event) -> Outcome:
        if any(name in event.fields for name in REASSIGNMENT):
            return Refused("the replicas of the partition change: a reassignment", is_outside=True)
        before = self._registrations.current
        epoch = event.number("partitionEpoch")
        if epoch in self._registrations.of_epoch:  # another controller of the quorum
            known = self._registrations.of_epoch[epoch]
            same = known.changed(event) == known
            return None if same else Refused(f"two lines disagree on partition epoch {epoch}")
        why = before.disagreement(event)
        if why:
            return Refused(why)
        after = before.changed(event)
        if after.partition_epoch != before.partition_epoch + 1:
            return Refused(f"partition epoch {epoch} does not follow {before.partition_epoch}")
        others = sorted((after.members | {after.leader}) - self.replicas.keys() - {NO_LEADER})
        if others:
            return Refused(f"broker {others[0]} is no replica of the partition")
        if after.leader not in {*before.members, NO_LEADER}:
            return Refused(self._lost_by_election(after.leader, before))
        self._registrations = self._registrations.with_change(after)
        refused: Outcome = None
        if after.leader_epoch != before.leader_epoch:
            refused = (
                self._do("elect_nobody", after.leader_epoch)
                if after.leader == NO_LEADER
                else self._do("elect", self.replicas[after.leader], after.leader_epoch)
            )
        elif after.leader != before.leader:
            refused = Refused("the leader changes and the leader epoch does not")
        return refused or self._all(
            (action, (self.replicas[broker],))
            for action, brokers in (
                ("expand_isr", after.members - before.members),
                ("shrink_isr", before.members - after.members),
            )
            for broker in sorted(brokers)
        )

    def _lost_by_election(self, leader: int, before: Registration) -> str:
        """Describes an election from outside of ISR and ELR, and the records that it loses."""
        r = self.replicas[leader]
        return (
            f"broker {leader} is elected, and it is not in ISR {sorted(before.isr)} or ELR"
            f" {sorted(before.elr)}: {self._now.missing(r, self._now.end(r))}"
        )

    def _refuse(self, event: Event) -> Outcome:
        del event
        return self._do("refuse")

    # ---- roles

    def _lead(self, event: Event) -> Outcome:
        r, epoch = self.replicas[event.line.node], event.number("leader_epoch")
        refused = self._learn(event, leader=event.line.node, isr=event.members("isr"))
        if refused is not None:
            return refused
        if epoch > self._now.epoch(r):
            refused = self._do("become_leader", r, epoch)
            if refused is not None:
                return refused
        elif not self.behaviour.state["replica.is_leader", (r,)]:
            return Refused(f"in leader epoch {epoch} it is already a follower")
        return self._log_differs(event, r)

    def _follow(self, event: Event) -> Outcome:
        r, epoch = self.replicas[event.line.node], event.number("leader_epoch")
        refused = self._learn(event, leader=event.number("leader"))
        if refused is not None:
            return refused
        if epoch > self._now.epoch(r):
            refused = self._do("become_follower", r, epoch)
            if refused is not None:
                return refused
        elif epoch < self._now.epoch(r) or self.behaviour.state["replica.is_leader", (r,)]:
            return Refused(f"it is already in leader epoch {self._now.epoch(r)}")
        return self._log_differs(event, r)

    def _log_differs(self, event: Event, r: int) -> Outcome:
        end = event.number("offset")
        if end < self._now.end(r):
            lost = self._now.missing(r, end)
            return Refused(f"log end: the line has {end}, the spec {self._now.end(r)}: {lost}")
        found, expected = (end, event.number("mark")), (self._now.end(r), self._now.mark(r))
        return _compared("log end and high watermark", found, expected)

    def _learn_more(self, event: Event) -> Outcome:
        return self._learn(event, isr=event.members("isr"))

    def _learn(self, event: Event, **shown: object) -> Outcome:
        """Refuses a broker's new partition state if it is unlike the controller's registration.

        Otherwise stores its partition epoch: the broker's next state must not have a lower one.
        """
        node, epoch = event.line.node, event.number("partition_epoch")
        if "leader_epoch" in event.fields:
            shown["leader_epoch"] = event.number("leader_epoch")
        why = self._registrations.unlike(event, **shown)
        if why:
            return Refused(why)
        known = self._learned.get(node, -1)
        if epoch < known:
            return Refused(f"partition epoch {epoch} comes after {known}")
        self._learned = {**self._learned, node: epoch}
        return None

    def _load(self, event: Event) -> Outcome:
        broker, mark = event.line.node, event.number("mark")
        r, is_first = self.replicas[broker], broker not in self._loaded
        self._loaded |= {broker}
        self._learned = {b: epoch for b, epoch in self._learned.items() if b != broker}
        self._forget_response(broker)
        if is_first and self._now.end(r) == 0:
            return _compared("high watermark", mark, 0)
        return self._do("restart", r, mark)

    # ---- the log

    def _append(self, event: Event) -> Outcome:
        r, first, last = self._batch(event)
        self._messages += last + 1 - first
        return _compared("first offset", first, self._now.end(r)) or self._all(
            ("append", (r, self._messages - last + o, o + 1)) for o in range(first, last + 1)
        )

    def _copy(self, event: Event) -> Outcome:
        r, first, last = self._batch(event)
        return _compared("first offset", first, self._now.end(r)) or self._all(
            ("fetch_response", (r, last_offset(o), o + 1)) for o in range(first, last + 1)
        )

    def _batch(self, event: Event) -> tuple[int, int, int]:
        return self.replicas[event.line.node], event.number("first"), event.number("last")

    def _name_producer(self, event: Event) -> Outcome:
        del event
        return None

    def _truncate(self, event: Event) -> Outcome:
        return self._do("truncate", self.replicas[event.line.node], event.number("offset"))

    def _start_at(self, event: Event) -> Outcome:
        offset = event.number("offset")
        return Refused(f"the log is deleted and starts at offset {offset}", is_outside=True)

    # ---- leaders

    def _advance(self, event: Event) -> Outcome:
        r, mark = self.replicas[event.line.node], event.number("mark")
        refused = _compared("high watermark before", event.number("before"), self._now.mark(r))
        if refused is not None:
            return refused
        epoch = self._now.epoch(r)
        self._take_late_fetches(epoch)
        for f in self.replicas.values():
            is_awaited = self.behaviour.state["led.maximal_isr", (epoch, f)]
            if is_awaited and self._now.fetched(epoch, f) < mark:
                self._do_if_allowed("drop_member", r, f)
        return self._do("advance_high_watermark", r, mark)

    def _propose(self, event: Event) -> Outcome:
        r, f = self.replicas[event.line.node], self.replicas[event.number("member")]
        epoch = self._now.epoch(r)
        refused = _compared("leader epoch", event.number("leader_epoch"), epoch) or _compared(
            "partition epoch",
            event.number("partition_epoch"),
            self._learned.get(event.line.node),
        )
        if refused is not None:
            return refused
        if self.behaviour.state["led.maximal_isr", (epoch, f)]:
            if event.number("member") in self._registrations.current.elr:
                return None  # the spec's leader waits for the ELR anyway
            self._do_if_allowed("drop_member", r, f)
        self._take_late_fetches(epoch)
        return self._do("propose_member", r, f)

    def _commit_isr(self, event: Event) -> Outcome:
        return self._learn(event, isr=event.members("isr"), leader=event.line.node)

    def _record(self, event: Event) -> Outcome:
        r, follower = self.replicas[event.line.node], event.number("follower")
        f, offset, epoch = self.replicas[follower], event.number("offset"), self._now.epoch(r)
        sent = self._sent.get(follower, {}).get(epoch)
        if sent != offset:
            return Refused(
                f"the leader records that broker {follower} fetched from offset {offset}; in leader"
                f" epoch {epoch} it last fetched from {'nowhere' if sent is None else sent}"
            )
        self._take_late_fetches(epoch)
        return _at_least("fetched offset", self._now.fetched(epoch, f), offset)

    def _take_late_fetches(self, epoch: int) -> None:
        """Takes the fetches that were sent before the epoch's leader had begun to lead."""
        for broker, f in self.replicas.items():
            offset = self._sent.get(broker, {}).get(epoch)
            if offset is None or offset != self._now.end(f):
                continue
            if self._now.fetched(epoch, f) < offset:
                self._do_if_allowed("fetch_request", f, last_offset(offset))

    # ---- followers

    def _fetch(self, event: Event) -> Outcome:
        r, offset = self.replicas[event.line.node], event.number("offset")
        epoch = event.number("leader_epoch")
        if epoch < self._now.epoch(r):
            return None  # sent before the fetcher heard of the new leader epoch
        last = self._now.last_epoch(r)
        refused = (
            _compared("leader epoch", epoch, self._now.epoch(r))
            or _compared("fetch offset", offset, self._now.end(r))
            or _compared("last fetched epoch", event.fields.get("last_epoch"), last)
        )
        if refused is not None:
            return refused
        sent = self._sent.get(event.line.node, {})
        self._sent = {**self._sent, event.line.node: {**sent, epoch: offset}}
        self._do_if_allowed("fetch_request", r, last_offset(offset))  # not if logs diverge
        return None

    def _receive(self, event: Event) -> Outcome:
        r = self.replicas[event.line.node]
        of_leader = as_int(self.behaviour.state["led.high_watermark", (self._now.epoch(r),)])
        if event.number("mark") > of_leader:
            return Refused(
                f"the response has high watermark {event.number('mark')}, the leader of leader"
                f" epoch {self._now.epoch(r)} had at most {of_leader}"
            )
        if event.line.node in self._heard:
            return Refused("the fetch response before was not handled to its end")
        self._heard = {**self._heard, event.line.node: event.number("mark")}
        return _compared("log end", event.number("offset"), self._now.end(r))

    def _fail(self, event: Event) -> Outcome:
        self._forget_response(event.line.node)
        return None

    def _forget_response(self, broker: int) -> None:
        self._heard = {b: mark for b, mark in self._heard.items() if b != broker}

    def _copied(self, event: Event) -> Outcome:
        r = self.replicas[event.line.node]
        return _compared("log end", event.number("offset"), self._now.end(r))

    def _follower_mark(self, event: Event) -> Outcome:
        r = self.replicas[event.line.node]
        heard = _compared(
            "received high watermark", event.number("received"), self._heard.get(event.line.node)
        )
        if heard is not None:
            return heard
        self._forget_response(event.line.node)
        expected = min(event.number("received"), self._now.end(r))
        if "mark" not in event.fields:
            return _compared("high watermark", self._now.mark(r), expected)
        refused = _compared("high watermark", event.number("mark"), expected)
        if refused is not None:
            return refused
        if expected == self._now.mark(r):
            return Refused(f"the high watermark was {expected} before")
        return self._do("follower_high_watermark", r, last_offset(self._now.end(r)), expected)


@cache
def _spec() -> ReplicationProof:
    return ReplicationProof()


def _greatest(events: Sequence[Event], names: frozenset[str]) -> int:
    found = (value for event in events for name, value in event.fields.items() if name in names)
    return max((value for value in found if isinstance(value, int)), default=0)


def _compared(what: str, found: object, expected: object) -> Outcome:
    if found == expected:
        return None
    return Refused(f"{what}: the line has {found}, the spec {expected}")


def _at_least(what: str, found: int, least: int) -> Outcome:
    if found >= least:
        return None
    return Refused(f"{what}: the line has {least}, the spec at most {found}")


_EPOCHS: Final = frozenset({"leader_epoch", "leaderEpoch"})
_OFFSETS: Final = frozenset({"offset", "last", "mark"})
_OF_CONTROLLER: Final = frozenset({Step.CREATE, Step.CHANGE, Step.REFUSE})
_STEPS: Final[Mapping[Step, Callable[[PartitionReplication, Event], Outcome]]] = {
    Step.CREATE: PartitionReplication._create,
    Step.CHANGE: PartitionReplication._change,
    Step.REFUSE: PartitionReplication._refuse,
    Step.LEAD: PartitionReplication._lead,
    Step.FOLLOW: PartitionReplication._follow,
    Step.LEARN: PartitionReplication._learn_more,
    Step.LOAD: PartitionReplication._load,
    Step.APPEND: PartitionReplication._append,
    Step.COPY: PartitionReplication._copy,
    Step.PRODUCER: PartitionReplication._name_producer,
    Step.TRUNCATE: PartitionReplication._truncate,
    Step.START_AT: PartitionReplication._start_at,
    Step.ADVANCE: PartitionReplication._advance,
    Step.PROPOSE: PartitionReplication._propose,
    Step.COMMIT_ISR: PartitionReplication._commit_isr,
    Step.RECORD: PartitionReplication._record,
    Step.FETCH: PartitionReplication._fetch,
    Step.RECEIVE: PartitionReplication._receive,
    Step.FAIL: PartitionReplication._fail,
    Step.COPIED: PartitionReplication._copied,
    Step.FOLLOWER_MARK: PartitionReplication._follower_mark,
}
