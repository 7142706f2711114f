"""Creates the clients of one cluster, which are unmodified clients of confluent-kafka.

The module `client_config` has every setting that differs from the library's default.
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

from checkers.client_config import (
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
# before a refused call is repeated: librdkafka refuses at once a call that repeats one still in
# progress, and keeps memory for each refusal
PAUSE_S: Final = 0.1
LIBRARIES: Final[Mapping[str, str]] = {
    "confluent-kafka": version("confluent-kafka"),
    "librdkafka": libversion()[0],
}

# librdkafka logs every dropped connection: with faults they would fill the terminal
_SILENT: Final = logging.getLogger("urteil.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class UnreachableCluster(InputFault):
    """Raised if the cluster does not respond, or if it refuses to create a topic or to start a
    transactional producer. Also raised if a partition of a new topic has no leader in time.
    """


@dataclass(frozen=True, slots=True)
class Reader:
    """A consumer with its isolation level. `read_up_to` has, for each partition, the offset at
    which the consumer found no more records.
    """

    consumer: Any
    isolation: Isolation
    read_up_to: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Clients:
    servers: str
    config: ClientConfig
    admin: Any

    @classmethod
    def connect(cls, servers: str, config: ClientConfig) -> Clients:
        """Connects to a cluster. Raises UnreachableCluster if no broker responds within 5 seconds.

        Raises BadClientConfig if the client library rejects a setting.
        """
        for client, kind in ((Producer, PRODUCER), (Consumer, CONSUMER)):
            config.make(client, config.merged(servers, kind))
        admin = config.make(_admin, config.merged(servers, {}))
        try:
            admin.list_topics(timeout=REACH_S)
        except KafkaException as error:
            raise UnreachableCluster(
                f"{servers}: no broker answered within {REACH_S:.0f} s ({error.args[0].str()}); "
                "check the address, and --client-config if the cluster requires TLS or SASL"
            ) from error
        return cls(servers, config, admin)

    def producer(self, acks: Acks) -> Any:
        """Creates a producer. It is not idempotent if `acks` is 1, and idempotent otherwise."""
        kind = PRODUCER if acks == "all" else ACKS_1
        return Producer(self._settings(kind), logger=_SILENT)

    def transactional_producer(self, transactional_id: str) -> Any:
        """Creates a transactional producer. The caller must call its method `init_transactions`."""
        settings = {**self._settings(TRANSACTIONAL), "transactional.id": transactional_id}
        return Producer(settings, logger=_SILENT)

    def reader(self, isolation: Isolation, group: str | None = None) -> Reader:
        """Creates a consumer to which partitions are assigned. It joins no group.

        If `group` is not None, the consumer can also fetch the committed offsets of this group.
        """
        settings = {
            **self._settings(CONSUMER),
            "isolation.level": isolation,
            "enable.partition.eof": True,  # reports the position at the end of a partition
        }
        if group is not None:
            settings["group.id"] = group
        return Reader(Consumer(settings, logger=_SILENT), isolation)

    def member(self, group: str) -> Any:
        """Creates a consumer that can join the group, with the isolation level read_committed."""
        settings = {**self._settings(MEMBER), "group.id": group}
        return Consumer(settings, logger=_SILENT)

    def _settings(self, kind: Mapping[str, Any]) -> dict[str, Any]:
        return self.config.merged(self.servers, kind)

    def require_transactions(self, transactional_id: str) -> None:
        """Waits until a transactional producer can be initialized. Raises UnreachableCluster if
        the cluster refuses, or does not respond in time.
        """
        producer = self.transactional_producer(transactional_id)
        until = time.monotonic() + LEADERS_WITHIN_S
        while True:
            try:
                producer.init_transactions(REACH_S)  # the first one creates __transaction_state
                return
            except KafkaException as error:
                refusal = error.args[0]
                if not refusal.retriable() or time.monotonic() > until:
                    raise UnreachableCluster(
                        f"{self.servers}: the cluster has no transactions ({refusal.str()}); "
                        "use --workload append-and-read"
                    ) from error
                time.sleep(PAUSE_S)

    def create_topic(self, topic: str, partitions: int, replication_factor: int) -> None:
        """Creates the topic, and waits until all its partitions have leaders.

        Raises InputFault if the topic exists already. Raises UnreachableCluster if the cluster
        refuses to create it, or if a partition has no leader in time.
        """
        new = NewTopic(topic, partitions, replication_factor)
        try:
            self.admin.create_topics([new])[topic].result()
        except KafkaException as error:
            refusal = error.args[0]
            if refusal.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raise InputFault(f"topic {topic} exists: --topic needs a new name") from error
            raise UnreachableCluster(
                f"topic {topic}: the cluster does not create it ({refusal.str()}); check "
                "--replication-factor, and what the client may do"
            ) from error
        until = time.monotonic() + LEADERS_WITHIN_S
        while not self._has_leaders(topic, partitions):
            if time.monotonic() > until:
                raise UnreachableCluster(
                    f"topic {topic}: a partition has no leader after {LEADERS_WITHIN_S:.0f} s; "
                    "check the brokers, and --replication-factor"
                )
            time.sleep(0.02)

    def require_topic(self, topic: str, partitions: int) -> None:
        """Raises InputFault if the topic of an earlier recording does not exist, or has another
        number of partitions.
        """
        found = self.admin.list_topics(timeout=REACH_S).topics.get(topic)
        if found is None or len(found.partitions) != partitions:
            there = "no" if found is None else len(found.partitions)
            raise InputFault(
                f"{self.servers}: topic {topic} has {there} partitions, and the recording had "
                f"{partitions}: the cluster has lost it, so record again"
            )

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        found = self.admin.list_topics(topic, timeout=REACH_S).topics[topic].partitions
        return len(found) == partitions and all(
            described.leader >= 0 for described in found.values()
        )


def _admin(settings: dict[str, Any]) -> Any:
    return AdminClient(settings, logger=_SILENT)
