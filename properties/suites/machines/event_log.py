"""Describes the events in a simulated cluster as text, for the comments of a counterexample.

Each line describes one event, or several events of the same kind:

    broker 1 crashes
    broker 2 is elected leader of orders-0 in leader epoch 1
    producer 1 gets v0, v1 acknowledged at offset 0, 1 of orders-0
    output-0 gets commit marker at offset 1

The events are grouped by kind, not ordered by time. Clients are numbered in the order of their
start. For example, the process 2000 of a history belongs to client 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from model.histories import (
    CommitOffset,
    EndOffset,
    FetchOffset,
    Isolation,
    MicroOperation,
    Operation,
    Poll,
    Send,
)
from model.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from reference_impl.log import transaction_marker
from reference_impl.log.record_batch import header
from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, NO_BROKER, NodeId
from reference_impl.simulation import faults
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.producer import PROCESSES_PER_CLIENT

Leadership = tuple[BrokerId, LeaderEpoch]
# The end offset of a log that a client receives, by its isolation level.
_END_OF: Final[Mapping[Isolation | None, str]] = {
    "read_committed": "last stable offset",
    "read_uncommitted": "high watermark",
    None: "end offset",
}


class EventLog:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._traced = 0
        self._operations = 0
        self._up = dict.fromkeys(cluster.broker_ids, True)
        self._cut: frozenset[tuple[NodeId, NodeId]] = frozenset()
        self._leaders: dict[TopicPartition, Leadership] = {}
        self._in_sync: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        self._ends: dict[tuple[int, str, str | None], int] = {}
        self._markers: set[tuple[TopicPartition, bytes]] = set()

    def new_events(self) -> tuple[str, ...]:
        events = (*self._faults(), *self._links(), *self._elections(), *self._client_events())
        return tuple(dict.fromkeys(events))

    # ------------------------------------------------------------ brokers

    def _faults(self) -> Iterator[str]:
        failed: set[BrokerId] = set()
        killed: list[NodeId] = []
        events = self._cluster.trace.events
        new, self._traced = events[self._traced :], len(events)
        for traced in new:
            match traced.event:
                case faults.Crash(broker):
                    failed.add(broker)
                    yield f"broker {broker} crashes"
                case faults.PowerLoss(broker):
                    failed.add(broker)
                    yield f"the machine of broker {broker} loses power and its unflushed records"
                case faults.ReplaceDisk(broker):
                    failed.add(broker)
                    yield f"broker {broker} dies and loses its disk"
                case faults.On() | faults.Reassign() as fault:
                    yield (
                        _reassigned(fault) if isinstance(fault, faults.Reassign) else _armed(fault)
                    )
                case "kill":
                    killed.append(traced.node)
                case str() as event if event.startswith("send "):
                    yield f"{self._name(traced.node)} sends {', '.join(event.split()[1:])}"
                case _:
                    pass
        if killed:
            yield f"{', '.join(map(self._name, killed))} killed"
        for broker, was_up in self._up.items():
            is_up = self._cluster.is_up(broker)
            if was_up and not is_up and broker not in failed:
                yield f"broker {broker} crashes"
            if is_up and (not was_up or broker in failed):
                yield f"broker {broker} restarts"
            self._up[broker] = is_up

    def _links(self) -> Iterator[str]:
        now = self._cluster.cut_links()
        if cut := now - self._cut:
            yield f"links cut: {self._link_names(cut)}"
        if self._cut - now:
            yield f"links still cut: {self._link_names(now)}" if now else "all links healed"
        self._cut = now

    def _elections(self) -> Iterator[str]:
        for place in self._cluster.topic_partitions():
            is_internal = place.topic.startswith("__")
            now = self._cluster.leader(place), self._cluster.leader_epoch(place)
            before, self._leaders[place] = self._leaders.get(place), now
            if before != now and (before is not None or not is_internal):
                yield _election(place, *now, is_first=before is None)
            in_sync = tuple(sorted(self._cluster.in_sync(place)))
            was, self._in_sync[place] = self._in_sync.get(place), in_sync
            if was != in_sync and not is_internal:
                yield f"in-sync replicas of {place}: {', '.join(map(str, in_sync)) or 'none'}"

    # ------------------------------------------------------------ clients

    def _client_events(self) -> Iterator[str]:
        ended = [it for it in self._cluster.history() if it.completed_ns is not None]
        new, self._operations = ended[self._operations :], len(ended)
        by_client: defaultdict[int, list[Operation]] = defaultdict(list)
        for operation in new:
            by_client[operation.process // PROCESSES_PER_CLIENT].append(operation)
        for number, operations in sorted(by_client.items()):
            name = self._name(NodeId(FIRST_CLIENT + number))
            for event in (*_effects(operations), *self._end_offsets(number, operations)):
                yield f"{name} {event}"
            if any(operation.f == "txn" for operation in operations):
                yield from self._new_markers()
        yield from self._new_markers()

    def _new_markers(self) -> Iterator[str]:
        appended: defaultdict[tuple[TopicPartition, str], list[int]] = defaultdict(list)
        for place in self._cluster.topic_partitions():
            for batch in self._cluster.batches(place) if self._cluster.is_led(place) else ():
                if (place, batch) not in self._markers and header(batch).is_control:
                    self._markers.add((place, batch))
                    result = transaction_marker.read(batch).result.value
                    appended[place, result].append(header(batch).base_offset)
        for (place, result), offsets in appended.items():
            yield f"{place} gets {result} marker at offset {shortened(offsets)}"

    def _end_offsets(self, client: int, operations: list[Operation]) -> Iterator[str]:
        received: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for operation in operations:
            for did in operation.did:
                if isinstance(did, EndOffset):
                    place = client, did.key, operation.isolation
                    if self._ends.get(place) != did.offset:
                        self._ends[place] = did.offset
                        received[did.key][_END_OF[operation.isolation]].append(did.offset)
        for key, ends in received.items():
            listed = " and ".join(f"{end} {shortened(offsets)}" for end, offsets in ends.items())
            yield f"receives {listed} of {key}"

    def _name(self, node: NodeId) -> str:
        if node == CONTROLLER:
            return "controller"
        if node <= FIRST_CLIENT:
            return f"broker {node}"
        return f"{self._cluster.client_kind(node)} {node - FIRST_CLIENT}"

    def _link_names(self, cut: frozenset[tuple[NodeId, NodeId]]) -> str:
        both = sorted({(min(a, b), max(a, b)) for a, b in cut if (b, a) in cut})
        one_way = sorted((a, b) for a, b in cut if (b, a) not in cut)
        return ", ".join(
            f"{self._name(a)} {arrow} {self._name(b)}"
            for arrow, links in (("-", both), ("->", one_way))
            for a, b in links
        )


def _effects(operations: list[Operation]) -> Iterator[str]:
    listed: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for operation in operations:
        if operation.f == "init_producer":
            yield f"initializes transactional id {operation.transactional_id}{_outcome(operation)}"
        if operation.f == "txn" and (transaction := _transaction(operation)):
            yield transaction
        for form, key, value, offset in _records(operation):
            listed[form, key].append((value, offset))
    for (form, key), records in listed.items():
        values, offsets = (shortened(column) for column in zip(*records, strict=True))
        yield form.format(values=values, offsets=offsets, key=key)


def _records(operation: Operation) -> Iterator[tuple[str, str, str, str]]:
    """Yields (sentence with placeholders, key, value, offset) for each record and each group offset
    of the operation.

    An example of a sentence is `reads {values} at offset {offsets} of {key}`.
    """
    is_transaction = operation.f == "txn"
    for did in operation.did:
        match did:
            case Poll(key, offset, value):
                yield "reads {values} at offset {offsets} of {key}", key, value, str(offset)
            case FetchOffset(key, offset):
                yield "fetches committed offset {offsets} of {key}", key, "", str(offset)
            case CommitOffset(key, offset) if not is_transaction:
                committed = f"{offset}{_outcome(operation)}"
                yield "commits offset {offsets} of {key}", key, "", committed
            case Send(key, value, offset) if operation.outcome == "ok" and not is_transaction:
                form = "gets {values} acknowledged at offset {offsets} of {key}"
                yield form, key, value, "unknown" if offset is None else str(offset)
            case Send(key, value) if not is_transaction:
                form = f"gets {operation.error} for {{values}}{_outcome(operation)}"
                yield form, key, value, ""
            case _:
                pass


def shortened(items: Sequence[object]) -> str:
    """Returns the items as a text. If there are more than six items, the text has only the first
    three and the final item.

    >>> shortened([1, 2, 3]), shortened(range(9))
    ('1, 2, 3', '0, 1, 2 ... 8')
    """
    if len(items) > 6:
        return f"{', '.join(map(str, items[:3]))} ... {items[-1]}"
    return ", ".join(map(str, items))


def _transaction(operation: Operation) -> str:
    did = ", ".join(filter(None, map(_sent, operation.did)))
    how = {"ok": "commits", "fail": "aborts"}.get(operation.outcome, "leaves open or in doubt")
    error = f" ({operation.error})" if operation.error not in (None, "ABORTED") else ""
    return f"{how} transaction of {operation.transactional_id}: {did}{error}" if did else ""


def _sent(did: MicroOperation) -> str:
    match did:
        case Send(key, value, offset):
            return f"{value} at offset {'unknown' if offset is None else offset} of {key}"
        case CommitOffset(key, offset):
            return f"group offset {offset} of {key}"
        case _:
            return ""


def _outcome(operation: Operation) -> str:
    return {"ok": "", "fail": ": failed"}.get(operation.outcome, ": outcome unknown")


def _election(
    place: TopicPartition, leader: BrokerId, epoch: LeaderEpoch, *, is_first: bool
) -> str:
    if leader == NO_BROKER:
        return f"{place} has no leader"
    verb = "leads" if is_first else "is elected leader of"
    return f"broker {leader} {verb} {place} in leader epoch {epoch}"


def _reassigned(fault: faults.Reassign) -> str:
    if fault.replicas is None:
        return f"the reassignment of {fault.topic_partition} is cancelled"
    return f"{fault.topic_partition} is reassigned to {', '.join(map(str, fault.replicas))}"


def _armed(fault: faults.On) -> str:
    does: Mapping[type, str] = {faults.Lose: "lost", faults.Die: "fatal to their broker"}
    late = fault.does
    how = f"{late.for_ms} ms late" if isinstance(late, faults.Hold) else does[type(late)]
    which = "request" if fault.moment == "before" else "response"
    topic = "" if fault.topic is None else f" for {fault.topic}"
    what = f"{which}s" if fault.count > 1 else which
    number = f"{fault.count} " if fault.count > 1 else ""
    return f"the next {number}{fault.api or ''} {what}{topic} will be {how}"
