"""A trace: all events of a run in order, each with the state of its node after the event.

States are immutable, so the trace stores references to them, and generates text only on request. In
the text, each event is a JSON object on one line, with the fields `seq`, `at_ms`, `node`, `action`
and `args`. An event of a broker also has the field `post`, the state of the broker's replicas.
Equal seeds produce equal bytes, independent of Python's hash seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import NamedTuple

from model.vocabulary import TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import CorruptBatch, header
from reference_impl.node.step import Input, RequestReceived, ResponseReceived, TimerFired
from reference_impl.partition.leader import Leader
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.faults import Fault

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Traced(NamedTuple):
    """An event of a trace: an input of a node, a fault, or a text such as `kill`. `after` is the
    state of the node after the event.
    """

    at_ms: int
    node: NodeId
    event: Input | Fault | str
    after: object


@dataclass(slots=True)
class Trace:
    events: list[Traced] = field(default_factory=list[Traced])

    def add(self, at_ms: int, node: NodeId, event: Input | Fault | str, after: object) -> None:
        self.events.append(Traced(at_ms, node, event, after))

    def lines(self) -> Iterator[str]:
        for number, traced in enumerate(self.events):
            action, arguments = described(traced.event)
            line: dict[str, Json] = {
                "seq": number,
                "at_ms": traced.at_ms,
                "node": traced.node,
                "action": action,
                "args": arguments,
            }
            if isinstance(traced.after, Broker):
                line["post"] = _replicas_of(traced.after)
            yield json.dumps(line, separators=(",", ":"))

    def digest(self) -> str:
        """Returns the SHA-256 hash of all lines. Equal runs have equal hashes."""
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(line.encode() + b"\n")
        return digest.hexdigest()


def described(event: Input | Fault | str) -> tuple[str, Json]:
    """Returns the name of an event, such as `Produce`, and the fields of the event as a JSON
    object.

    An event that is a text has no fields, so the second value is None.
    """
    match event:
        case str():
            return event, None
        case RequestReceived(sender, correlation, request):
            arguments: dict[str, Json] = {"from": sender, "correlation": correlation}
            return type(request).__name__, {**arguments, **_fields_of(request)}
        case ResponseReceived(sender, correlation, response):
            arguments = {"from": sender, "correlation": correlation}
            return type(response).__name__, {**arguments, **_fields_of(response)}
        case TimerFired(timer):
            return f"timer {timer.kind.value}", _plain(timer.topic_partition)
        case _:
            return type(event).__name__, _fields_of(event)


def _fields_of(value: object) -> dict[str, Json]:
    assert is_dataclass(value)
    return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}


def _plain(value: object) -> Json:
    match value:
        case TopicPartition():
            return str(value)
        case Enum():
            return value.name
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return _batches(value)
        case tuple():
            return [_plain(item) for item in value]
        case frozenset():
            return sorted((_plain(item) for item in value), key=str)
        case _:
            return _fields_of(value)


def _batches(value: bytes) -> Json:
    try:
        return [_batch(batch) for batch in batches(value)]
    except CorruptBatch:
        return value.hex()


def _batch(batch: bytes) -> Json:
    head = header(batch)
    return {
        "base_offset": head.base_offset,
        "records": head.record_count,
        "leader_epoch": head.leader_epoch,
        "producer_id": head.producer_id,
        "base_sequence": head.base_sequence,
        "crc": head.crc,
    }


def _replicas_of(broker: Broker) -> Json:
    return {
        str(topic_partition): {
            "role": "leader" if isinstance(replica, Leader) else "follower",
            "leader_epoch": replica.state.leader_epoch,
            "isr": [*replica.state.isr],
            "end_offset": replica.log.end_offset,
            "high_watermark": replica.log.high_watermark,
        }
        for topic_partition, replica in broker.replicas.items()
    }
