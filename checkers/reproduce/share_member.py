"""A member of a share group (KIP-932): a consumer of confluent-kafka that handles single records.

Source: KIP-932.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Final

import confluent_kafka

from checkers.record import outcomes
from model.faults import InputFault

GROUP: Final = "g"
WITHIN_S: Final = 30.0
NO_ANSWER: Final = "no answer yet"
ACCEPT, RELEASE = 1, 2  # confluent_kafka.AcknowledgeType
SETTINGS: Final = {
    "group.id": GROUP,
    "share.acknowledgement.mode": "explicit",
    "max.poll.records": 1,
    "log_level": 0,  # dropped connections would fill the terminal
}


@dataclass(slots=True)
class ShareMember:
    """A consumer of a share group. `answer` is the broker's response to the latest
    acknowledgement.
    """

    consumer: Any
    answer: str = NO_ANSWER  # or an error, or `NONE`
    _messages: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def join(cls, servers: str, topic: str) -> ShareMember:
        """Returns a new member of the share group. Raises InputFault if the installed
        confluent-kafka has no consumer for share groups.
        """
        create = getattr(confluent_kafka, "ShareConsumer", None)
        if create is None:
            raise InputFault(
                f"confluent-kafka {confluent_kafka.version()} has no consumer for share groups;"
                " install 2.16.1 or later"
            )
        member = cls(create({**SETTINGS, "bootstrap.servers": servers}))
        member.consumer.set_acknowledgement_commit_callback(member._answered)
        member.consumer.subscribe([topic])
        return member

    def poll(self) -> str:
        """Returns the next record and its delivery count as text, or `no record` after 30 s
        without a record.
        """
        until = time.monotonic() + WITHIN_S
        while True:
            for message in self.consumer.poll(1.0):
                if message.error() is None:
                    value = str(message.value().decode())
                    self._messages[value] = message
                    return f"{value}, delivery {message.delivery_count()}"
            if time.monotonic() > until:
                return "no record"

    def accept(self, value: str) -> None:
        self._acknowledge(value, ACCEPT)
        self.consumer.commit_sync(WITHIN_S)

    def begin_release(self, value: str) -> None:
        """Releases a record, so that any member can receive it. Does not wait for the response."""
        self._acknowledge(value, RELEASE)
        self.consumer.commit_async()

    def await_answer(self, within_s: float) -> None:
        """Waits for the response to the latest acknowledgement, for at most `within_s` seconds.
        If `within_s` is 0, checks only whether the response has arrived.
        """
        until = time.monotonic() + within_s
        while True:
            self.consumer.commit_async()  # sends nothing more, and calls `_answered`
            if self.answer != NO_ANSWER or time.monotonic() > until:
                return
            time.sleep(0.1)

    def close(self) -> None:
        self.consumer.close()

    def _acknowledge(self, value: str, kind: int) -> None:
        self.answer = NO_ANSWER
        self.consumer.acknowledge(self._messages.pop(value), kind)

    def _answered(self, _: object, error: confluent_kafka.KafkaException | None) -> None:
        self.answer = "NONE" if error is None else str(outcomes.reason(error.args[0]))
