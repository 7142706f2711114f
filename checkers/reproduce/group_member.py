"""A member of a consumer group: a consumer of confluent-kafka.

It uses the group protocol of KIP-848, or the classic one.

Source: KIP-848; KIP-345 for group.instance.id.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final, Literal

import confluent_kafka

GroupProtocol = Literal["consumer", "classic"]  # of KIP-848, and the older one
GROUP: Final = "g"
WITHIN_S: Final = 30.0
SETTINGS: Final = {
    "group.id": GROUP,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "log_level": 0,  # dropped connections would fill the terminal
}
FATAL: Final = re.compile("Fatal error: (?:Broker: )?([^:]*)")


@dataclass(frozen=True, slots=True)
class GroupMember:
    consumer: Any

    @classmethod
    def join(
        cls, servers: str, topic: str, instance: str | None, protocol: GroupProtocol
    ) -> GroupMember:
        """Returns a new member of the group. `instance` is its group.instance.id, or None for a
        dynamic member. `protocol` is its group.protocol.
        """
        own = {"bootstrap.servers": servers, "group.protocol": protocol}
        static = {} if instance is None else {"group.instance.id": instance}
        consumer = confluent_kafka.Consumer({**SETTINGS, **own, **static})
        consumer.subscribe([topic])
        return cls(consumer)

    def poll(self) -> str:
        """Returns the value of the next record, or the description of a fatal error, or
        `no record` after 30 s without either.
        """
        until = time.monotonic() + WITHIN_S
        while True:
            message = self.consumer.poll(1.0)
            if message is not None and message.error() is None:
                return str(message.value().decode())
            # The error has the code _FATAL. Only its text has the broker's error.
            if message is not None and (fatal := FATAL.match(message.error().str())):
                return fatal[1]
            if time.monotonic() > until:
                return "no record"

    def commit_in_transaction(self, servers: str) -> None:
        """Commits the positions of the consumer in a transaction that has no records. Raises
        KafkaException if the commit fails.
        """
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": servers,
                "transactional.id": GROUP,
                "log_level": 0,
            }
        )
        producer.init_transactions(WITHIN_S)
        producer.begin_transaction()
        positions = self.consumer.position(self.consumer.assignment())
        group = self.consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(positions, group, WITHIN_S)
        producer.commit_transaction(WITHIN_S)

    def commit(self) -> None:
        """Commits the position of the consumer, and waits for the response. Raises KafkaException
        if the broker refuses the commit.
        """
        self.consumer.commit(asynchronous=False)

    def close(self) -> None:
        self.consumer.close()
