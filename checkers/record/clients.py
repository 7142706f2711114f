"""Clients of one cluster: made, tried within seconds, silent.

An unmodified confluent-kafka; every setting that is not its default is in `client_config`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, libversion
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.record.client_config import (
    ACKS_1,
    CONSUMER,
    MEMBER,
    PRODUCER,
    TRANSACTIONAL,
    Acks,
    ClientConfig,
)
from model.faults import InputFault
from model.histories import Isolation

REACH_S: Final = 5.0
LEADERS_WITHIN_S: Final = 15.0
LIBRARIES: Final[Mapping[str, str]] = {
    "confluent-kafka": version("confluent-kafka"),
    "librdkafka": libversion()[0],
}

# librdkafka's own words would drown the terminal when a fault cuts connections
_SILENT: Final = logging.getLogger("urteil.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class UnreachableCluster(InputFault):
    """Nobody answers at the bootstrap servers, or no topic can be made there."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A consumer, and the isolation level at which it reads and asks for ends.

    `read_up_to` has for each topic partition where it stood when there was nothing more to read: an
    offset that may be ahead of its last record, as offsets have gaps.
    """

    consumer: Any
    isolation: Isolation
    read_up_to: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Clients:
    """Makes clients of one cluster."""

    servers: str
    config: ClientConfig
    admin: Any

    @classmethod
    def connect(cls, servers: str, config: ClientConfig) -> Clients:
        """Clients of a cluster that answers; UnreachableCluster within seconds, BadClientConfig."""
        for client, kind in ((Producer, PRODUCER), (Consumer, CONSUMER)):
            config.make(client, config.merged(servers, kind))
        admin = config.make(_admin, config.merged(servers, {}))
        try:
            admin.list_topics(timeout=REACH_S)
        except KafkaException as error:
            raise UnreachableCluster(
                f"{servers}: no broker answered within {REACH_S:.0f} s ({error.args[0].str()}); "
                "check --bootstrap-servers, and --client-config where the cluster wants TLS or SASL"
            ) from error
        return cls(servers, config, admin)

    def producer(self, acks: Acks) -> Any:
        """An idempotent producer; with acks=1 it can't be one."""
        kind = PRODUCER if acks == "all" else ACKS_1
        return Producer(self._settings(kind), logger=_SILENT)

    def transactional_producer(self, transactional_id: str) -> Any:
        """A producer of transactions; `init_transactions` is the caller's."""
        settings = {**self._settings(TRANSACTIONAL), "transactional.id": transactional_id}
        return Producer(settings, logger=_SILENT)

    def reader(self, isolation: Isolation, group: str | None = None) -> Reader:
        """A consumer that is assigned what it reads; it may ask for the offsets of a group."""
        settings = {
            **self._settings(CONSUMER),
            "isolation.level": isolation,
            "enable.partition.eof": True,  # tells where it stands when it has read everything
        }
        if group is not None:
            settings["group.id"] = group
        return Reader(Consumer(settings, logger=_SILENT), isolation)

    def member(self, group: str) -> Any:
        """A consumer that is to join the group, and reads what is committed."""
        settings = {**self._settings(MEMBER), "group.id": group}
        return Consumer(settings, logger=_SILENT)

    def _settings(self, kind: Mapping[str, Any]) -> dict[str, Any]:
        return self.config.merged(self.servers, kind)

    def require_transactions(self, transactional_id: str) -> None:
        """The cluster has transactions, and its coordinators are there; UnreachableCluster."""
        producer = self.transactional_producer(transactional_id)
        until = time.monotonic() + LEADERS_WITHIN_S
        while True:
            try:
                producer.init_transactions(REACH_S)  # the first of all makes their log
                return
            except KafkaException as error:
                refusal = error.args[0]
                if not refusal.retriable() or time.monotonic() > until:
                    raise UnreachableCluster(
                        f"{self.servers}: no transactions there ({refusal.str()}); "
                        "the workload append-and-read needs none"
                    ) from error

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> None:
        """The topic is there and every partition has a leader; UnreachableCluster."""
        new = NewTopic(topic, partitions, replication_factor)
        try:
            self.admin.create_topics([new])[topic].result()
        except KafkaException as error:
            refusal = error.args[0]
            if refusal.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raise InputFault(f"topic {topic} exists; a recording needs a new one") from error
            raise UnreachableCluster(f"topic {topic}: {refusal.str()}") from error
        until = time.monotonic() + LEADERS_WITHIN_S
        while not self._has_leaders(topic, partitions):
            if time.monotonic() > until:
                raise UnreachableCluster(
                    f"topic {topic}: a partition had no leader after {LEADERS_WITHIN_S:.0f} s"
                )
            time.sleep(0.02)

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        found = self.admin.list_topics(topic, timeout=REACH_S).topics[topic].partitions
        return len(found) == partitions and all(
            described.leader >= 0 for described in found.values()
        )


def _admin(settings: dict[str, Any]) -> Any:
    return AdminClient(settings, logger=_SILENT)
