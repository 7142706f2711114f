"""Runs the steps of one sequence on one cluster. It replaces symbols by real names, finds the
brokers that get the requests, and stores values from the answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from checkers.conform.batches import batch
from checkers.conform.connection import CLOSED, Answer, Connection
from checkers.conform.steps import Begin, Collect, Send, Steps
from checkers.conform.target import AGAIN_AFTER_S, READY_WITHIN_S, NotReady, Target
from reference_impl.wire.messages.apis import Api

PENDING: Final = "no answer yet"
UNKNOWN_TOPIC_ID: Final = UUID(int=5)
RETRIED: Final = frozenset(
    {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "CONCURRENT_TRANSACTIONS",
    }
)
STILL_ENDING: Final = frozenset({"CONCURRENT_TRANSACTIONS"})  # until the markers are written
# What a client of the first protocol gets instead, if a leader verifies its transaction too early.
# Kafka: ReplicaManager.handleProduceAppend, GroupCoordinatorService.commitTransactionalOffsets.
VERIFIED_TOO_EARLY: Final[Mapping[Api, str]] = {
    Api.PRODUCE: "NOT_ENOUGH_REPLICAS",
    Api.TXN_OFFSET_COMMIT: "COORDINATOR_NOT_AVAILABLE",
}
RETRIES_WITHIN_S: Final = 15.0  # a new coordinator loads its partitions first
BEGUN_AFTER_S: Final = 0.05  # the next request of the sequence arrives after this one
# Two batches that the broker's clock gives one time would be equally the latest ones of their log.
LATER_APPEND_S: Final = 0.002
GROUP, TRANSACTION = 0, 1  # key types of FindCoordinator


@dataclass(slots=True)
class _Pending:
    send: Send
    thread: threading.Thread
    connection: Connection
    answers: list[Answer]  # one, when it has come


@dataclass(slots=True)
class Session:
    """One sequence of requests on one cluster. `number` is part of the names of its topics and
    groups, which makes the names unique.
    """

    target: Target
    number: int
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    topics: dict[str, Any] = field(default_factory=dict[str, Any])
    _connections: dict[int, Connection] = field(default_factory=dict[int, Connection])
    _coordinators: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    _pending: dict[str, _Pending] = field(default_factory=dict[str, _Pending])

    def prepare(self, sequence: Steps) -> None:
        names = {topic.name: self.real_name(topic.name) for topic in sequence.topics}
        self.topics = {**self.target.shared}
        if sequence.topics:
            self.topics |= self.target.create(sequence.topics, names)

    def real_name(self, text: str) -> str:
        """Returns the real name for a symbolic name such as `~t`. Any text that is no symbolic name
        is returned unchanged.
        """
        if text.startswith("~"):
            return f"{self.target.run}{self.number}-{text[1:]}"
        return f"{self.target.run}{text[1:]}" if text.startswith("^") else text

    def symbolic_name(self, text: str) -> str:
        """Returns the text with all real names replaced by their symbolic names."""
        own = text.replace(f"{self.target.run}{self.number}-", "~")
        return own.replace(self.target.run, "^")

    def send(self, step: Send) -> Answer:
        """Sends a request and returns its answer. For at most 15 seconds, the request is sent again
        if the answer has one of the errors in `retried_errors`.

        After a Produce request, the method waits two milliseconds, so that no two batches of the
        sequence are appended in the same millisecond.
        """
        until = time.monotonic() + RETRIES_WITHIN_S
        retried = retried_errors(step)
        while True:
            answer = self._send_to(self._connection(self.receiver(step.to)), step)
            if time.monotonic() > until or not errors(answer) & retried:
                if step.api is Api.PRODUCE:
                    time.sleep(LATER_APPEND_S)
                return answer
            if "NOT_COORDINATOR" in errors(answer):
                self._coordinators.clear()
            time.sleep(AGAIN_AFTER_S)

    def begin(self, step: Begin) -> None:
        """Sends the request on a new connection, and does not wait for the answer."""
        connection = Connection(*self.target.brokers[self.receiver(step.send.to)])
        api, version = step.send.api, step.send.version
        answers: list[Answer] = []
        is_sent = connection.write(api, version, self.resolved(step.send.body))

        def receives() -> None:
            answers.append(connection.read(api, version) if is_sent else CLOSED)

        thread = threading.Thread(target=receives, daemon=True)
        thread.start()
        self._pending[step.label] = _Pending(step.send, thread, connection, answers)
        time.sleep(BEGUN_AFTER_S)

    def begun(self, label: str) -> Send | None:
        """Returns the request with this label, if `collect` has not returned its answer yet.
        Returns None otherwise.
        """
        pending = self._pending.get(label)
        return None if pending is None else pending.send

    def collect(self, step: Collect, until: float) -> Answer:
        """Returns the answer to the request with the label of `step`. Returns PENDING if there is
        no answer at the time `until`.
        """
        pending = self._pending[step.label]
        pending.thread.join(max(0.0, until - time.monotonic()))
        if not pending.answers:
            return PENDING
        del self._pending[step.label]
        pending.connection.close()
        return pending.answers[0]

    def bind(self, step: Send, answer: Answer) -> None:
        if isinstance(answer, str):
            return
        for name, path in step.binds.items():
            value = _at(answer, path)
            if value not in (None, "", -1):
                if name in self.values:
                    # The value that the name had stays available under `NAME before`.
                    self.values[f"{name} before"] = self.values[name]
                self.values[name] = value

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        for pending in self._pending.values():
            pending.connection.close()

    def _send_to(self, connection: Connection, step: Send) -> Answer:
        body = self.resolved(step.body)
        return connection.send(step.api, step.version, body, answered=step.is_answered)

    # ------------------------------------------------------------ receivers

    def receiver(self, to: str) -> int:
        """Returns the id of the broker that must receive a request. `to` describes the broker, for
        example as `leader ~t 0`: the leader of partition 0 of the topic `~t`.

        If the partition does not exist, returns the leader of another partition of the topic. If
        the topic does not exist, returns the broker with the lowest id.
        """
        kind, *rest = to.split(" ")
        nodes = sorted(self.target.brokers)
        if kind in ("leader", "follower"):
            leader = self._leader(rest[0], int(rest[1]))
            others = [node for node in nodes if node != leader]
            return leader if kind == "leader" or not others else others[0]
        if kind in ("group", "transaction", "not-group", "not-transaction"):
            key_type = GROUP if kind.endswith("group") else TRANSACTION
            found = self._coordinator(key_type, self.real_name(rest[0]))
            others = [node for node in nodes if node != found]
            return others[0] if kind.startswith("not-") and others else found
        return self.target.controller if kind == "controller" else nodes[0]

    def _leader(self, topic: str, index: int) -> int:
        partitions = self.topics.get(topic, {"partitions": []})["partitions"]
        found = [one["leader_id"] for one in partitions if one["partition_index"] == index]
        if not found:
            found = [one["leader_id"] for one in partitions]
        return int(found[0]) if found else min(self.target.brokers)

    def _coordinator(self, key_type: int, key: str) -> int:
        until = time.monotonic() + READY_WITHIN_S
        body = {"key": key, "key_type": key_type}
        while (key_type, key) not in self._coordinators:
            connection = self._connection(min(self.target.brokers))
            answer = connection.send(Api.FIND_COORDINATOR, 3, body)
            if isinstance(answer, str):
                return min(self.target.brokers)  # the request of the step shows what is wrong
            if answer["error_code"] == "NONE" and self._is_loaded(key_type, key, answer):
                self._coordinators[key_type, key] = answer["node_id"]
            elif answer["error_code"] not in ("NONE", *RETRIED):
                return min(self.target.brokers)
            elif time.monotonic() > until:
                raise NotReady(
                    f"{self.target.name}: no coordinator of {key} answers; check the brokers' logs"
                )
            else:
                time.sleep(AGAIN_AFTER_S)
        return self._coordinators[key_type, key]

    def _is_loaded(self, key_type: int, key: str, found: Mapping[str, Any]) -> bool:
        if key_type != GROUP:
            # Requests with a transactional id are retried.
            return True
        # To a member that does not exist, a coordinator that still loads answers with another
        # error.
        body = {"group_id": key, "generation_id": 0, "member_id": "nobody"}
        connection = self._connection(found["node_id"])
        return not errors(connection.send(Api.HEARTBEAT, 0, body)) & RETRIED

    def _connection(self, node: int) -> Connection:
        if node not in self._connections:
            self._connections[node] = Connection(*self.target.brokers[node])
        return self._connections[node]

    # ------------------------------------------------------------ symbols

    def resolved(self, value: Any) -> Any:
        """Returns the value with each placeholder and each symbolic name replaced by the real value
        on this cluster.
        """
        if isinstance(value, str):
            return self.real_name(value)
        if isinstance(value, list | tuple):
            return [self.resolved(one) for one in value]
        if not isinstance(value, Mapping):
            return value
        cells = value
        symbol = next((name for name in cells if name.startswith("$")), None)
        if symbol is None:
            return {name: self.resolved(cell) for name, cell in cells.items()}
        return _SYMBOLS[symbol](self, cells)

    def _bound(self, cells: Mapping[str, Any]) -> Any:
        names = [name for name in cells["$bound"] if name in self.values]
        value = self.values[names[0]] if names else self.resolved(cells["otherwise"])
        return value + cells["plus"] if cells["plus"] else value

    def _topic_id(self, cells: Mapping[str, Any]) -> UUID:
        known = self.topics.get(cells["$topic_id"])
        return UNKNOWN_TOPIC_ID if known is None else known["topic_id"]

    def _batches(self, cells: Mapping[str, Any]) -> bytes:
        return b"".join(batch(self.resolved(one)) for one in cells["$batches"])

    def _now(self, cells: Mapping[str, Any]) -> Any:
        return self.target.begun_ms + cells["$now"]

    def _hex(self, cells: Mapping[str, Any]) -> bytes:
        return bytes.fromhex(cells["$hex"])

    def _if_same(self, cells: Mapping[str, Any]) -> Any:
        first, second = (self.values.get(name) for name in cells["$if_same"])
        same = first is not None and first == second
        return self.resolved(cells["then" if same else "otherwise"])


_SYMBOLS: Final[Mapping[str, Any]] = {
    "$bound": Session._bound,
    "$topic_id": Session._topic_id,
    "$batches": Session._batches,
    "$now": Session._now,
    "$hex": Session._hex,
    "$if_same": Session._if_same,
}


def retried_errors(step: Send) -> frozenset[str]:
    """Returns the errors after which the request `step` is sent again.

    If `step.retries` is True, the result has all coordinator errors after which clients retry, such
    as NOT_COORDINATOR. Otherwise it has CONCURRENT_TRANSACTIONS. A broker returns this error until
    the markers of the previous transaction are written.

    For a Produce request with a transactional id, the result also has NOT_ENOUGH_REPLICAS. For a
    TxnOffsetCommit request, it also has COORDINATOR_NOT_AVAILABLE.
    """
    retried = RETRIED if step.retries else STILL_ENDING
    is_verified = step.body.get("transactional_id") is not None and step.api in VERIFIED_TOO_EARLY
    return retried | {VERIFIED_TOO_EARLY[step.api]} if is_verified else retried


def errors(answer: Any) -> frozenset[str]:
    """Returns the names of all error codes in an answer, including NONE. Returns an empty set if
    the answer is a text instead of fields.
    """
    if isinstance(answer, Mapping):
        cells = answer
        here = {
            cell
            for name, cell in cells.items()
            if name.endswith("error_code") and isinstance(cell, str)
        }
        return frozenset(here).union(*(errors(cell) for cell in cells.values()))
    if isinstance(answer, list):
        return frozenset[str]().union(*(errors(one) for one in answer))
    return frozenset()


def _at(answer: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(answer, list):
            items = answer
            answer = items[int(name)] if int(name) < len(items) else None
        else:
            answer = answer.get(name) if isinstance(answer, Mapping) else None
    return answer
