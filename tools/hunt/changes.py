"""Requests changes of a running cluster: reassignments, elections, and settings of topics.

No acknowledged record may be lost because of such a change. Each change is one request to any
broker that responds. The change is recorded with the response. A reassignment or an election may
concern any partition, including partitions of internal topics. Settings are changed only for topics
of the workload.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.systems.administration import (
    NONE,
    TOPIC_RESOURCE,
    Administration,
    Place,
    Refused,
)
from checkers.systems.requests import call
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.messages.apis import Api

EVERY_S: Final = (2.0, 6.0)  # between two changes
ANSWERED_WITHIN_S: Final = 6.0  # an administrator's request times out after 5 s
NO_ANSWER: Final = "no answer"
VALUES: Final[Mapping[str, Sequence[str]]] = {  # configurations of topics, and possible values
    "segment.bytes": ("1048576", "16777216"),
    "segment.ms": ("1000", "604800000"),
    "flush.messages": ("1", "9223372036854775807"),
    "compression.type": ("producer", "gzip", "uncompressed"),
    "min.insync.replicas": ("1", "2"),
}


class NoAnswer(Exception):
    """Raised if no broker has responded to the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A requested change. `error` is `NONE`, the name of an error, or `no answer`."""

    at_ns: int
    kind: str
    of: str  # the partition or topic, and its new value
    error: str


@dataclass(slots=True)
class Changer:
    """Requests random changes of a cluster. `addresses` maps the id of each broker to its
    address.
    """

    rng: random.Random
    addresses: Mapping[int, Address]
    topics: frozenset[str]  # of the workload: only their configurations are changed
    done: list[Change] = field(default_factory=list[Change])

    def run(self, kinds: Sequence[str], until: threading.Event) -> None:
        """Requests changes of the given kinds, such as `configure`, one after another until `until`
        is set.

        Returns at once if `kinds` is empty.
        """
        while kinds and not until.wait(self.rng.uniform(*EVERY_S)):
            try:
                partitions = list(self.administration.replicas().items())
            except NoAnswer:
                continue
            if partitions:
                self.change(self.rng.choice(list(kinds)), *self.rng.choice(partitions))

    def change(self, kind: str, place: Place, replicas: Sequence[int]) -> None:
        """Requests one change of the cluster, and appends the change with its error to `done`.

        The kind `configure` changes a random topic of the workload. All other kinds change the
        partition `place`, whose replicas are on the brokers `replicas`.
        """
        of, request = CHANGES[kind](self, place, replicas)
        try:
            request()
            error = NONE
        except Refused as refused:
            error = refused.error
        except NoAnswer:
            error = NO_ANSWER
        self.done.append(Change(at_ns=time.monotonic_ns(), kind=kind, of=of, error=error))

    @property
    def administration(self) -> Administration:
        return Administration(self.ask)

    def ask(self, api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a request to the brokers in a random order, and returns the first response.

        Raises NoAnswer if no broker responds.
        """
        for broker in self.rng.sample(list(self.addresses), len(self.addresses)):
            try:
                address = self.addresses[broker]
                return call(address, api, version, body, within_s=ANSWERED_WITHIN_S)
            except OSError:
                continue  # the broker is down or paused
        raise NoAnswer


Drawn = tuple[str, Callable[[], None]]  # what is changed, in words, and the request


def _reassign(to: Changer, place: Place, replicas: Sequence[int]) -> Drawn:
    chosen = to.rng.sample(list(to.addresses), len(replicas))
    return f"{_name(place)} to {chosen}", lambda: to.administration.reassign({place: chosen})


def _cancel(to: Changer, place: Place, _: Sequence[int]) -> Drawn:
    # In most cases no reassignment is in progress.
    return f"{_name(place)} to None", lambda: to.administration.reassign({place: None})


def _elect(to: Changer, place: Place, _: Sequence[int]) -> Drawn:
    # If the preferred leader already leads, the answer is an error.
    return _name(place), lambda: to.administration.elect([place], accepted=())


def _configure(to: Changer, _: Place, __: Sequence[int]) -> Drawn:
    topic = to.rng.choice(sorted(to.topics))
    name = to.rng.choice(list(VALUES))
    value = to.rng.choice(list(VALUES[name]))
    of = f"{topic} {name}={value}"
    return of, lambda: to.administration.configure(TOPIC_RESOURCE, topic, name, value)


def _name(place: Place) -> str:
    topic, index = place
    return f"{topic}-{index}"


CHANGES: Final[Mapping[str, Callable[[Changer, Place, Sequence[int]], Drawn]]] = {
    "reassign": _reassign,
    "cancel": _cancel,
    "elect": _elect,
    "configure": _configure,
}
