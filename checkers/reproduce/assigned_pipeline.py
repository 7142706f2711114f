"""A pipeline that chooses its partition by itself: a consumer and a transactional producer of
confluent-kafka.

The pipeline reads inputs from the last partition of the topic, and writes outputs to partition 0.
It commits each output and the offset of its input in one transaction. The pipelines of a partition
have the same transactional id, so a new one fences the others (KIP-98). They do not join the
consumer group, which has only their committed offsets.

Source: KIP-98; KIP-447 for reads of stable offsets.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from checkers.reproduce.group_member import GROUP, WITHIN_S
from checkers.reproduce.transactions import TRANSACTIONAL_ID

OUTPUT: Final = 0  # the partition of the outputs
QUIET: Final = {"log_level": 0}  # dropped connections would fill the terminal


@dataclass(slots=True)
class AssignedPipeline:
    servers: str
    topic: str
    index: int  # the partition of the inputs
    consumer: Any = field(init=False)
    _producer: Any = None

    def __post_init__(self) -> None:
        self.consumer = confluent_kafka.Consumer(
            {
                **QUIET,
                "bootstrap.servers": self.servers,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )

    def fence_others(self) -> None:
        """Starts a new transactional producer. It fences all earlier producers with the same
        transactional id.
        """
        self._producer = confluent_kafka.Producer(
            {
                **QUIET,
                "bootstrap.servers": self.servers,
                "transactional.id": TRANSACTIONAL_ID,
            }
        )
        self._producer.init_transactions(WITHIN_S)

    def begin_at_committed(self) -> int:
        """Fetches the committed offset, and moves to it. Returns it, or 0 if there is none.

        Repeats the request if a broker answers that it is not the coordinator.
        """
        place = TopicPartition(self.topic, self.index)
        until = time.monotonic() + WITHIN_S
        while True:
            try:
                (committed,) = self.consumer.committed([place], WITHIN_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.NOT_COORDINATOR or time.monotonic() > until:
                    raise
                time.sleep(0.5)
            else:
                break
        if committed.error is not None:
            raise KafkaException(committed.error)
        begin = max(int(committed.offset), 0)
        self.consumer.assign([TopicPartition(self.topic, self.index, begin)])
        return begin

    def process(self) -> str:
        """Reads the next input, and commits its output and its offset in one transaction. Returns
        the value of the input, or `no record` after 30 s without one.
        """
        until = time.monotonic() + WITHIN_S
        message = None
        while message is None or message.error() is not None:
            if time.monotonic() > until:
                return "no record"
            message = self.consumer.poll(1.0)
        self._producer.begin_transaction()
        self._producer.produce(self.topic, message.value(), partition=OUTPUT)
        next_input = TopicPartition(self.topic, self.index, message.offset() + 1)
        group = self.consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction([next_input], group, WITHIN_S)
        self._producer.commit_transaction(WITHIN_S)
        return str(message.value().decode())

    def close(self) -> None:
        self.consumer.close()
