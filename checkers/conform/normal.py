"""Computes the normal form of an answer, in which symbols replace the values that a system chooses
freely.

Requests are sent in sequences. Random ids are numbered in the order in which they first appear in
the answers of a sequence: `producer 1`, `member 2`. Topics and groups have the symbolic names that
the sequence uses. The id of a broker becomes the text `broker`, and a list of replicas becomes the
number of replicas. Times are relative to the start of the run. Lists of objects are sorted by the
names and indexes of the objects. The fields in `NOT_COMPARED` are removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from checkers.conform.connection import Answer
from checkers.conform.session import Session
from reference_impl.log.record_batch import CorruptBatch, decode, verified
from reference_impl.protocol.messages import NO_TIMESTAMP

NOT_COMPARED: Final[Mapping[str, str]] = {
    "throttle_time": "a quota of the cluster",
    "error_message": "free text",
    "batch_index_error_message": "free text",
    "cluster_id": "chosen when the storage is formatted",
    "host": "an address",
    "port": "an address",
    "rack": "a setting of the broker",
    "documentation": "free text",
    "synonyms": "where a setting comes from, not its value",
    "finalized_features_epoch": "an offset of the controller's log",
    "topic_authorized_operations": "access control is off",
    "cluster_authorized_operations": "access control is off",
    "authorized_operations": "access control is off",
    "client_host": "an address",
    "transaction_start_time": "when the transaction began",
    "last_timestamp": "when a broker wrote the last marker",
    "log_dir": "a folder of the broker",
    "total_bytes": "the size of a disk",
    "usable_bytes": "the size of a disk",
}

_BROKERS: Final = frozenset({"node_id", "controller_id", "leader_id", "preferred_read_replica"})
_REPLICAS: Final = frozenset(
    {
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
        "eligible_leader_replicas",
        "last_known_elr",
    }
)
_SETS: Final = frozenset({"subscribed_topic_names"})
_IDENTITY: Final = (
    "api_key",
    "name",
    "topic",
    "topic_id",
    "topic_name",
    "partition_index",
    "partition",
    "index",
    "group_id",
    "key",
    "resource_name",
    "user",
    "transactional_id",
    "group_instance_id",
    "instance_id",
    "member_id",
    "metadata",
    "entity_type",
)
_LISTED: Final = ("group_id", "resource_name")  # of ListGroups, ListConfigResources
_TOPIC: Final = 2  # a type of resources
_MEMBERS: Final = frozenset({"member_id", "leader"})
_OLDEST_TIME_MS: Final = 10**12  # larger numbers in a time field are clock times
_SHOWN_CHARACTERS: Final = 24
CUT_BATCH: Final = "a cut batch"


@dataclass(slots=True)
class Normal:
    """Replaces ids and names in one cluster's answers by symbols. Equal values are replaced by the
    same symbol.
    """

    session: Session
    _symbols: dict[tuple[str, Any], str] = field(default_factory=dict[tuple[str, Any], str])

    def form(self, answer: Answer) -> Any:
        """Returns the normal form of an answer. If the system gave no answer, `answer` is a text
        such as `CLOSED`, and is returned unchanged.
        """
        return self._form("", answer) if not isinstance(answer, str) else answer

    def _form(self, name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            cells = value
            return {
                one: self._form(one, cell) for one, cell in cells.items() if one not in NOT_COMPARED
            }
        if isinstance(value, list):
            items = [one for one in value if not self._is_of_another_sequence(one)]
            if name in _REPLICAS:
                return len(items)
            if items and isinstance(items[0], Mapping):
                items = sorted(items, key=self._order)
            forms = [self._form(name, one) for one in items]
            return sorted(forms) if name in _SETS else forms
        if isinstance(value, bytes):
            return self._bytes(name, value)
        if isinstance(value, UUID):
            return self._topic_name(value)
        if isinstance(value, str):
            return self._text(name, value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._number(name, value)
        return value

    def _is_of_another_sequence(self, item: Any) -> bool:
        # Sequences run in parallel on one cluster, so ListGroups also returns the groups of others.
        # An entry with an error is in the answer because the request named it.
        if not isinstance(item, Mapping) or "error_code" in item:
            return False
        names = [item[name] for name in _LISTED if name in item]
        names += [item["name"] for one in item.get("partitions", ()) if _is_moving(one)]
        names += [part["entity_name"] for part in item.get("entity", ())]
        if "transaction_state" in item:
            names.append(item["transactional_id"])
        if item.get("resource_type", _TOPIC) != _TOPIC:
            names = []
        return any(not self.session.symbolic_name(str(name)).startswith("~") for name in names)

    def _order(self, cells: Mapping[str, Any]) -> str:
        found = [
            self.session.symbolic_name(str(self._topic_name(cell) if _is_id(cell) else cell))
            for name in _IDENTITY
            if (cell := cells.get(name)) is not None
            # the system's own member ids are random
            and not (name in _MEMBERS and self._is_drawn(cell))
        ]
        return json.dumps([one.rjust(12) if one.isdigit() else one for one in found])

    def _number(self, name: str, value: int) -> Any:
        if name in _BROKERS:
            return value if value < 0 else "broker"
        if name == "producer_id" and value >= 0:
            return self._symbol("producer", value)
        if name == "session_id" and value > 0:
            return self._symbol("fetch session", value)
        if value > _OLDEST_TIME_MS and ("time" in name or "timestamp" in name):
            return f"begin{value - self.session.target.begun_ms:+}"
        return value

    def _text(self, name: str, value: str) -> str:
        if name in _MEMBERS and self._is_drawn(value):
            return self._symbol("member", value)
        return self.session.symbolic_name(value)

    def _is_drawn(self, value: str) -> bool:
        # Clients put the unique prefix of this run into their ids.
        return bool(value) and self.session.target.run not in value

    def _symbol(self, kind: str, value: Any) -> str:
        count = sum(known == kind for known, _ in self._symbols)
        return self._symbols.setdefault((kind, value), f"{kind} {count + 1}")

    def _topic_name(self, value: UUID) -> str:
        names = [
            name for name, topic in self.session.topics.items() if topic.get("topic_id") == value
        ]
        return f"id of {names[0]}" if names else "id of no topic of the sequence"

    def _bytes(self, name: str, value: bytes) -> Any:
        if name == "records":
            return self._batches(value)
        return self.session.symbolic_name(value.decode("latin-1"))

    def _batches(self, data: bytes) -> list[Any]:
        found: list[Any] = []
        while data:
            size = int.from_bytes(data[8:12], "big") + 12
            found.append(self._batch(data[:size]) if size <= len(data) else CUT_BATCH)
            data = data[size:]
        return found

    def _batch(self, data: bytes) -> Any:
        try:
            header, records = verified(data), decode(data)
        except CorruptBatch as fault:
            return f"corrupt: {fault}"
        is_now = header.is_control or header.is_log_append_time
        return {
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "leader_epoch": header.leader_epoch,
            "attributes": header.attributes,
            "producer_id": self._number("producer_id", header.producer_id),
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "records": [
                [
                    offset,
                    None if record.key is None else _shown(record.key),
                    None if record.value is None else _shown(record.value),
                    "now" if is_now else self._since_begun(record.timestamp_ms),
                ]
                for offset, record in records
            ],
        }

    def _since_begun(self, time_ms: int) -> int:
        begun_ms = self.session.target.begun_ms
        return NO_TIMESTAMP if time_ms == NO_TIMESTAMP else time_ms - begun_ms


def _is_moving(partition: Any) -> bool:
    return isinstance(partition, Mapping) and "adding_replicas" in partition


def _is_id(value: Any) -> bool:
    return isinstance(value, UUID)


def _shown(data: bytes) -> str:
    text = data.decode("latin-1")
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} bytes)"
