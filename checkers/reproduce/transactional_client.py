"""A transactional producer of confluent-kafka. Each transaction is an operation of the history.

If the application aborts the transaction, the outcome of the operation is `fail`, even if the
request to abort fails.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaException

from checkers.client_config import ClientConfig
from checkers.record import outcomes
from checkers.record.clients import Clients
from checkers.record.processes import Shared, Topic
from checkers.reproduce.transactions import TRANSACTIONAL_ID
from model.histories import Outcome, Send

WITHIN_S: Final = 40.0
SETTINGS: Final = {
    "socket.timeout.ms": "3000",  # a request without an answer is sent again soon
    "transaction.timeout.ms": "60000",
    "message.timeout.ms": "30000",
}


@dataclass(slots=True)
class TransactionalClient:
    producer: Any
    shared: Shared
    topic: Topic
    committed: bool = False  # the last commit was confirmed
    error: str | None = None  # of the last commit or abort
    ended: bool = False
    _operation: int = -1
    _sent: list[Send] = field(default_factory=list[Send])
    _committing: threading.Thread | None = None

    @classmethod
    def connect(cls, servers: str, shared: Shared, topic: Topic) -> TransactionalClient:
        clients = Clients.connect(servers, ClientConfig(SETTINGS))
        clients.require_transactions(TRANSACTIONAL_ID)
        producer = clients.transactional_producer(TRANSACTIONAL_ID)
        producer.init_transactions(WITHIN_S)
        return cls(producer, shared, topic)

    def begin(self, value: str) -> None:
        """Begins a transaction, sends its first record, and waits for the acknowledgement of the
        record.
        """
        self.committed = self.ended = False
        key = self.topic.key(0)
        self.producer.begin_transaction()
        self._operation = self.shared.history.invoke(
            self.shared.new_process(), "txn", (Send(key, value),), transactional_id=TRANSACTIONAL_ID
        )
        self._sent = [Send(key, value)]

        def reported(error: Any, message: Any) -> None:
            if error is None:
                self._sent[0] = Send(key, value, outcomes.offset_of(message))

        self.producer.produce(self.topic.name, value=value, partition=0, on_delivery=reported)
        self.producer.flush(WITHIN_S)

    def begin_commit(self) -> None:
        self._committing = threading.Thread(target=self._commit, daemon=True)
        self._committing.start()

    def _commit(self) -> None:
        try:
            self.producer.commit_transaction(WITHIN_S)
        except KafkaException as error:
            self._end("info", str(error.args[0]))
            return
        self._end("ok", None)
        self.committed = True

    def abort(self) -> None:
        try:
            self.producer.abort_transaction(WITHIN_S)
        except KafkaException as error:
            self._end("fail", str(error.args[0]))
            return
        self._end("fail", "aborted")

    def close(self) -> None:
        if self._committing is not None:
            self._committing.join()

    def _end(self, outcome: Outcome, error: str | None) -> None:
        self.shared.history.complete(self._operation, outcome, tuple(self._sent), error)
        self.error, self.ended = error, True
