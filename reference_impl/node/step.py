"""One step of a node: its input, its next state, and the effects to carry out.

A node (broker or controller) is a value. `step` returns the node after one input, and the effects
that the runtime must carry out. A node has no clock, thread, socket or randomness: time comes in as
`now_ms`, everything else as an `Input`. The runtime (the simulation or the TCP server) carries out
the effects in their order.

The contract between a node and its runtime:

- `now_ms` never goes back. A step may come at any time after its timer was due, and a timer may
  fire more than once. So a node acts on its own state, never on the number of timer events. No
  timer needs to be cancelled.
- A `Send` arrives at the other node as `RequestReceived`. A `Reply` arrives as `ResponseReceived`,
  with the correlation of its request. Either may be lost, late, repeated or reordered, so a node
  trusts only the content of a message. Messages to and from the controller may be lost or late, but
  are neither repeated nor reordered: a leader concludes from a refusal that no earlier request was
  applied.
- Every request gets a response, except Produce with acks=0 and UpdateMetadata, unless the node
  crashes first. The response may come in a later step: Produce with acks=all waits for replication,
  Fetch waits for up to `max_wait_ms`.
- `Readable` announces new data for a consumer of a topic partition: more records, a higher end
  offset, or another leader. A runtime that implements long polls itself then needs no polling in
  between.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self, TypeVar

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
class RequestReceived:
    """A request has arrived; its answer goes to the sender under the same correlation."""

    sender: NodeId
    correlation: int
    request: Request


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The answer to one of this node's own requests has arrived."""

    sender: NodeId
    correlation: int
    response: Response


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer's time has come."""

    timer: Timer


Input = RequestReceived | ResponseReceived | TimerFired


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
    """Wake this node with `TimerFired(timer)` at that time, or as soon as possible after it."""

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
State = TypeVar("State")
StepResult = tuple[State, Effects]  # the next state, and the effects in their order


class Node(Protocol):
    """Whoever takes steps.

    `Broker.start(now_ms, config=..., disk=..., incarnation=...)` and `Controller.start(now_ms,
    ...)` give the first value and its first effects; `Broker.disk()` is what a crash of the process
    leaves.
    """

    def step(self, now_ms: int, event: Input) -> StepResult[Self]:
        """The node after the input, and what is to be done, in this order."""
        ...
