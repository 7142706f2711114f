"""One step of a node: what it is told, what it wants done.

A node (broker or controller) is a value. `step` gives the node after one input and the effects that
the world owes it. There is no clock, thread, socket or randomness inside: time comes in as
`now_ms`, everything else as an `Input`; who runs the node (the simulation, the TCP server) carries
out the effects in their order.

The contract between a node and its world:

- `now_ms` never goes back. A step may come at any time after a timer's, and a timer may fire again:
  a node looks at its state, not at how often it was woken. There is nothing to cancel.
- A `Send` arrives at the other node as `Asked`, a `Reply` as `Answered` under the correlation of
  the request. Either may be lost, late, repeated or out of order; a node trusts only what the
  message says. What goes to the controller or comes from it may be lost or late, but it is neither
  repeated nor out of order: a leader takes a refusal to mean that no earlier request was applied.
- An answer is owed to every request but Produce with acks=0 and UpdateMetadata, unless the node
  crashes first. It may come in a later step: Produce with acks=all waits inside for its
  replication, Fetch for up to `max_wait_ms`.
- `Readable` tells that there is something new in a topic partition for a consumer's fetch or end
  offset (or that the leader changed), so that a world that answers long polls itself need not ask
  in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Request, Response


class TimerKind(Enum):
    """What a node wakes for."""

    HEARTBEAT = "heartbeat"  # a broker tells the controller that it lives, or registers
    CHECKPOINT = "checkpoint"  # high watermarks go to disk, and the logs are flushed
    WAITS = "waits"  # of a topic partition: requests that have waited long enough
    REPLICA_LAG = "replica-lag"  # of a topic partition: followers that lag leave the ISR
    FETCH = "fetch"  # of a topic partition: a follower fetches again
    RETENTION = "retention"  # old records are deleted, silent producers forgotten
    COORDINATOR = "coordinator"  # of an internal topic partition: what was left undone, time-outs
    SESSIONS = "sessions"  # the controller fences the brokers that it no longer hears
    SHUT_DOWN = "shut-down"  # a broker is asked to end: it hands over what it leads, and stops
    CLIENT = "client"  # a simulated client looks after its requests


@dataclass(frozen=True, slots=True)
class Timer:
    """The name of a timer."""

    kind: TimerKind
    topic_partition: TopicPartition | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request has arrived; its answer goes to the sender under the same correlation."""

    sender: NodeId
    correlation: int
    request: Request


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to one of this node's own requests has arrived."""

    sender: NodeId
    correlation: int
    response: Response


@dataclass(frozen=True, slots=True)
class Fired:
    """A timer's time has come."""

    timer: Timer


Input = Asked | Answered | Fired


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request to another node."""

    to: NodeId
    correlation: int
    request: Request


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer a request."""

    to: NodeId
    correlation: int
    response: Response


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Wake this node with `Fired(timer)` at that time, or as soon as possible after it."""

    timer: Timer
    at_ms: int


@dataclass(frozen=True, slots=True)
class Readable:
    """A consumer of this topic partition may find more than before."""

    topic_partition: TopicPartition


@dataclass(frozen=True, slots=True)
class Stopped:
    """The broker was shut down: it says nothing more, and all of its disk is written."""


Effect = Send | Reply | SetTimer | Readable | Stopped
Effects = tuple[Effect, ...]


class Node(Protocol):
    """Whoever takes steps.

    `Broker.start(now_ms, config=..., disk=..., incarnation=...)` and `Controller.start(now_ms,
    ...)` give the first value and its first effects; `Broker.disk()` is what a crash of the process
    leaves.
    """

    def step(self, now_ms: int, told: Input) -> tuple[Self, Effects]:
        """The node after the input, and what is to be done, in this order."""
        ...
