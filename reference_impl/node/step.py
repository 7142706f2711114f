"""One step of a node: the input, the next state, and the effects of the step.

A node (a broker or the controller) is a value without clock, thread, socket or randomness. The time
comes in as `now_ms`, and everything else comes in as an `Input`. `step` returns the next state of
the node, and a list of effects. The runtime (the simulation or the TCP server) carries out these
effects in their order.

The contract between a node and its runtime:

- `now_ms` never goes back. A timer may fire at any time after it was due, and it may fire more than
  once. A node must therefore decide by its own state, never by the number of timer events. No timer
  needs to be cancelled. If a node sets a timer again, a runtime may drop the earlier timer.
- A `Send` arrives at the other node as `RequestReceived`. A `Reply` arrives as `ResponseReceived`,
  with the correlation id of its request. Either message may be lost, late, repeated or reordered,
  so a node trusts only the content of a message. Messages to and from the controller may be lost or
  late, but are neither repeated nor reordered. A leader relies on this order when it repeats an ISR
  proposal.
- Every request gets a response, unless the node crashes first. There are two exceptions.
  UpdateMetadata never has a response. Produce with acks=0 has a response only if it is rejected.
  The TCP server does not send this response, but closes the connection, as Kafka does.
- `Readable` announces new data for a consumer of a topic partition: more records, a higher end
  offset, or another leader.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, Self, TypeVar

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import NodeId
from reference_impl.protocol.requests import Request, Response


class TimerKind(Enum):
    HEARTBEAT = "heartbeat"  # a broker registers, or sends its heartbeat
    CHECKPOINT = "checkpoint"  # a broker writes high watermarks and flushes its logs
    WAITS = "waits"  # of a topic partition: waiting requests time out
    REPLICA_LAG = "replica-lag"  # of a topic partition: the leader looks for lagging followers
    FETCH = "fetch"  # of a topic partition: a follower fetches again
    RETENTION = "retention"  # old records are deleted, inactive producers expire
    COMPACTION = "compaction"  # logs are compacted, and their old records deleted
    FLUSH = "flush"  # a broker flushes the logs whose flush.ms has passed
    COORDINATOR = "coordinator"  # of an internal topic partition: retries and timeouts
    SESSIONS = "sessions"  # the controller fences brokers whose session has expired
    SHUT_DOWN = "shut-down"  # a broker shuts down in a controlled way
    CLIENT = "client"  # a simulated client checks its requests


@dataclass(frozen=True, slots=True)
class Timer:
    kind: TimerKind
    topic_partition: TopicPartition | None = None


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """An input of a node: a request from another node or from a client. The response must have the
    same correlation id.
    """

    sender: NodeId
    correlation: int
    request: Request


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """An input of a node: the response to a request that this node has sent."""

    sender: NodeId
    correlation: int
    response: Response


@dataclass(frozen=True, slots=True)
class TimerFired:
    timer: Timer


Input = RequestReceived | ResponseReceived | TimerFired


@dataclass(frozen=True, slots=True)
class Send:
    to: NodeId
    correlation: int
    request: Request


@dataclass(frozen=True, slots=True)
class Reply:
    to: NodeId
    correlation: int
    response: Response


@dataclass(frozen=True, slots=True)
class SetTimer:
    """An effect of a step: the runtime must deliver `TimerFired(timer)` to this node at `at_ms` or
    soon afterwards.
    """

    timer: Timer
    at_ms: int


@dataclass(frozen=True, slots=True)
class Readable:
    """An effect of a step: consumers of the topic partition may now find more records, a higher end
    offset, or another leader.
    """

    topic_partition: TopicPartition


@dataclass(frozen=True, slots=True)
class Stopped:
    """An effect of a step: the broker has shut down. It sends no more messages, and its logs are
    flushed.
    """


Effect = Send | Reply | SetTimer | Readable | Stopped
Effects = tuple[Effect, ...]
State = TypeVar("State")
StepResult = tuple[State, Effects]  # the next state, and the effects in their order


class Node(Protocol):
    def step(self, now_ms: int, event: Input) -> StepResult[Self]:
        """Returns the node's next state, and the effects of the step in their order."""
        ...
