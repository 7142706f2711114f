"""Changes of a cluster that must lose nothing: reassignments, elections, settings of topics.

Each change is one request, to any broker that answers. Reassignments and elections are about a
partition drawn from all that Metadata lists, so internal topics are reassigned too. Only topics of
the workload get other settings. Each change is recorded with its answer, even if it was refused.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.systems.requests import Address, call
from reference_impl.wire.apis import Api

EVERY_S: Final = (2.0, 6.0)  # between two changes
ANSWERED_WITHIN_S: Final = 3.0
TIMEOUT_MS: Final = 2_000
TOPIC: Final = 2  # the resource type
SET: Final = 0
NO_ANSWER: Final = "no answer"
VALUES: Final[Mapping[str, Sequence[str]]] = {  # configurations of topics, and possible values
    "segment.bytes": ("1048576", "16777216"),
    "segment.ms": ("1000", "604800000"),
    "flush.messages": ("1", "9223372036854775807"),
    "compression.type": ("producer", "gzip", "uncompressed"),
    "min.insync.replicas": ("1", "2"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that was requested, and the error in the answer: `NONE`, a name, or no answer."""

    at_ns: int
    kind: str
    of: str  # the partition or topic, and its new value
    error: str


@dataclass(slots=True)
class Changer:
    """Draws and requests changes of one cluster; `addresses` has a broker's address by number."""

    rng: random.Random
    addresses: Mapping[int, Address]
    topics: frozenset[str]  # of the workload: only their configurations are changed
    done: list[Change] = field(default_factory=list[Change])

    def run(self, kinds: Sequence[str], until: threading.Event) -> None:
        """Requests changes of these kinds, one at a time, until the event is set."""
        while kinds and not until.wait(self.rng.uniform(*EVERY_S)):
            partition = self._any_partition()
            if partition is not None:
                kind = self.rng.choice(list(kinds))
                of, error = CHANGES[kind](self, partition)
                at_ns = time.monotonic_ns()
                self.done.append(Change(at_ns=at_ns, kind=kind, of=of, error=error))

    def ask(self, api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Sends a request to the brokers in a random order until one answers; None if none does."""
        for broker in self.rng.sample(list(self.addresses), len(self.addresses)):
            try:
                address = self.addresses[broker]
                return call(address, api, version, body, within_s=ANSWERED_WITHIN_S)
            except OSError:
                continue  # the broker is down or paused
        return None

    def _any_partition(self) -> tuple[str, dict[str, Any]] | None:
        answer = self.ask(Api.METADATA, 9, {"topics": None})
        topics = [] if answer is None else answer["topics"]
        partitions = [(topic["name"], each) for topic in topics for each in topic["partitions"]]
        return self.rng.choice(partitions) if partitions else None


Partition = tuple[str, dict[str, Any]]


def _reassign(to: Changer, partition: Partition) -> tuple[str, str]:
    """Moves the partition to as many random brokers as it has replicas."""
    count = len(partition[1]["replica_nodes"])
    return _reassigned(to, partition, to.rng.sample(list(to.addresses), count))


def _cancel(to: Changer, partition: Partition) -> tuple[str, str]:
    """Cancels the reassignment of the partition, which has none in most cases."""
    return _reassigned(to, partition, None)


def _reassigned(
    to: Changer, partition: Partition, replicas: Sequence[int] | None
) -> tuple[str, str]:
    name, index = partition[0], partition[1]["partition_index"]
    moved = {"partition_index": index, "replicas": replicas}
    topics = [{"name": name, "partitions": [moved]}]
    body = {"timeout": TIMEOUT_MS, "topics": topics}
    answer = to.ask(Api.ALTER_PARTITION_REASSIGNMENTS, 0, body)
    error = NO_ANSWER
    if answer is not None:
        answered = answer["responses"]
        error = answered[0]["partitions"][0]["error_code"] if answered else answer["error_code"]
    return f"{name}-{index} to {replicas}", error


def _elect(to: Changer, partition: Partition) -> tuple[str, str]:
    """Elects the preferred leader of the partition."""
    name, index = partition[0], partition[1]["partition_index"]
    body = {
        "election_type": 0,
        "topic_partitions": [{"topic": name, "partitions": (index,)}],
        "timeout": TIMEOUT_MS,
    }
    answer = to.ask(Api.ELECT_LEADERS, 2, body)
    if answer is None:
        return f"{name}-{index}", NO_ANSWER
    results = answer["replica_election_results"]
    found = results[0]["partition_result"][0]["error_code"] if results else answer["error_code"]
    return f"{name}-{index}", found


def _configure(to: Changer, _: Partition) -> tuple[str, str]:
    """Sets a configuration of one of the workload's topics."""
    topic = to.rng.choice(sorted(to.topics))
    name = to.rng.choice(list(VALUES))
    value = to.rng.choice(list(VALUES[name]))
    config = {"name": name, "config_operation": SET, "value": value}
    changed = {"resource_type": TOPIC, "resource_name": topic, "configs": [config]}
    body = {"resources": [changed], "validate_only": False}
    answer = to.ask(Api.INCREMENTAL_ALTER_CONFIGS, 1, body)
    error = NO_ANSWER if answer is None else answer["responses"][0]["error_code"]
    return f"{topic} {name}={value}", error


CHANGES: Final[Mapping[str, Callable[[Changer, Partition], tuple[str, str]]]] = {
    "reassign": _reassign,
    "cancel": _cancel,
    "elect": _elect,
    "configure": _configure,
}
