"""The program of a pipeline with confluent-kafka. It has the same commands and results as
`Pipeline.java`, with one difference: `close` closes only the consumer, and not the producer.

A request is sent again after 3 s without a response, and a record fails after 30 s. All other
settings that affect transactions are the defaults of librdkafka.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any, Final

import confluent_kafka
from confluent_kafka import KafkaException

OUT: Final = "out"
WITHIN_S: Final = 40.0
READS_FOR_S: Final = 60.0  # until the group removes a member that was killed


@dataclass(slots=True)
class Application:
    consumer: Any
    producer: Any
    in_transaction: bool = False

    @classmethod
    def start(cls, servers: str, topic: str) -> Application:
        shared: Any = {"bootstrap.servers": servers, "log_level": 0}
        consumer = confluent_kafka.Consumer({
            **shared,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
        })  # fmt: skip
        consumer.subscribe([topic])
        producer = confluent_kafka.Producer({
            **shared,
            "transactional.id": "x",
            "socket.timeout.ms": 3_000,
            "transaction.timeout.ms": 60_000,
            "message.timeout.ms": 30_000,
        })  # fmt: skip
        producer.init_transactions(WITHIN_S)
        return cls(consumer, producer)

    def result(self, command: str) -> str:
        try:
            if command == "process":
                return self.process()
            if command == "offsets":
                positions = self.consumer.position(self.consumer.assignment())
                group = self.consumer.consumer_group_metadata()
                known = [one for one in positions if one.offset >= 0]
                self.producer.send_offsets_to_transaction(known, group, WITHIN_S)
            elif command == "commit":
                self.producer.commit_transaction(WITHIN_S)
                self.in_transaction = False
            else:
                self.consumer.close()
        except KafkaException as error:
            return str(error).replace("\n", " ")
        return "done"

    def process(self) -> str:
        until = time.monotonic() + READS_FOR_S
        while True:
            message = self.consumer.poll(1.0)
            if message is not None and message.error() is None:
                break
            if message is not None and message.error().fatal():
                return str(message.error())
            if time.monotonic() > until:
                return "no record"
        if not self.in_transaction:
            self.producer.begin_transaction()
            self.in_transaction = True
        self.producer.produce(OUT, message.value())
        self.producer.flush(WITHIN_S)
        return str(message.value().decode())


def main() -> None:
    application = Application.start(*sys.argv[1:])
    for line in sys.stdin:
        sys.stdout.write(f"{application.result(line.rstrip())}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
