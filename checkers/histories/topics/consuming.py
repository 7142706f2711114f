"""Reads the records of a topic, from chosen offsets to the current end of each partition.

The reader does not join a consumer group. It reads only committed records, unless the client
configuration sets `isolation.level` to another value.

Source: librdkafka, `enable.partition.eof`: the end of a partition for a reader at read_committed is
its last stable offset.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from checkers.client_config import ClientConfig
from checkers.histories.topics.address import Topic
from model.faults import InputFault

RECORDS_AT_ONCE: Final = 5_000
ANSWERS_WITHIN_S: Final = 10.0
CONSUMES_FOR_S: Final = 0.1  # one call waits so long, unless it has enough records earlier
SILENT_FOR_S: Final = 30.0  # without any record, before the reader gives up
_CONSUMER: Final[Mapping[str, Any]] = {
    "isolation.level": "read_committed",
    "client.id": "urteil",
}
# The user's file does not override these: a resumed run would miss records.
_FIXED: Final[Mapping[str, Any]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
}


@dataclass(slots=True)
class TopicReader:
    """A consumer of all partitions of one topic. `id` is the id of the topic, as text."""

    topic: Topic
    id: str
    group: str
    partitions: tuple[int, ...]
    _consumer: Any = field(repr=False)
    _broker_error: list[str] = field(repr=False)  # the last error, as one text

    def ends(self) -> dict[int, tuple[int, int]]:
        """Returns the first offset and the current end offset of each partition."""
        with _explained(self.topic):
            return {
                number: self._consumer.get_watermark_offsets(
                    TopicPartition(self.topic.name, number), timeout=ANSWERS_WITHIN_S
                )
                for number in self.partitions
            }

    def records(
        self, positions: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterator[tuple[list[Any], dict[int, int]]]:
        """Yields lists of records from the offsets `positions` up to the offsets `ends`, which are
        not included. Each list is paired with the next offset to read in each partition.

        If the last stable offset of a partition is below the offset in `ends`, the records end at
        the last stable offset. Raises InputFault if no broker responds.
        """
        now = dict(positions)
        open_ones = {number for number in now if now[number] < ends[number]}
        with _explained(self.topic):
            self._consumer.assign(
                [TopicPartition(self.topic.name, number, now[number]) for number in open_ones]
            )
            heard = time.monotonic()
            while open_ones:
                batch = []
                for message in self._consumer.consume(RECORDS_AT_ONCE, CONSUMES_FOR_S):
                    heard = time.monotonic()
                    number, offset = message.partition(), message.offset()
                    error = message.error()
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    if error is None and offset < ends[number]:
                        batch.append(message)
                        now[number] = offset + 1
                    elif error is not None:
                        now[number] = max(now[number], offset)
                    if error is not None or offset + 1 >= ends[number]:
                        open_ones.discard(number)
                yield batch, dict(now)
                if time.monotonic() - heard > SILENT_FOR_S:
                    raise InputFault(
                        f"{self.topic}: no record for {SILENT_FOR_S:.0f} s "
                        f"({self._broker_error[0]}); check the brokers, then run again: "
                        "it resumes where it ended"
                    )
            self._consumer.unassign()

    def commit(self, positions: Mapping[int, int]) -> None:
        """Commits the offsets `positions` for the consumer group. Raises InputFault if the
        broker refuses.
        """
        offsets = [TopicPartition(self.topic.name, *one) for one in positions.items()]
        try:
            stored = self._consumer.commit(offsets=offsets, asynchronous=False)
            for one in stored:
                if one.error is not None:
                    raise KafkaException(one.error)
        except KafkaException as error:
            raise InputFault(
                f"{self.topic}: the offsets of group {self.group} cannot be committed "
                f"({_reason(error)}); permit this group, or set group.id in --client-config"
            ) from error


@contextmanager
def reading(topic: Topic, config: ClientConfig, group: str) -> Generator[TopicReader]:
    """Yields a reader of the topic. If the client configuration has a `group.id`, this id replaces
    `group`.

    Raises InputFault if the topic is missing or if no broker responds. Raises BadClientConfig if
    the client library rejects the configuration.
    """
    last = ["no broker answers"]
    common = {"error_cb": lambda error: last.__setitem__(0, error.str())}
    admin = config.make(AdminClient, {**config.merged(topic.bootstrap_servers, {}), **common})
    with _explained(topic, last):
        asked = admin.describe_topics(
            TopicCollection([topic.name]), request_timeout=ANSWERS_WITHIN_S
        )
        described = asked[topic.name].result()
    settings = config.merged(topic.bootstrap_servers, {**_CONSUMER, "group.id": group})
    consumer = config.make(Consumer, {**settings, **_FIXED, **common})
    try:
        yield TopicReader(
            topic,
            str(described.topic_id),
            settings["group.id"],
            tuple(sorted(one.id for one in described.partitions)),
            consumer,
            last,
        )
    finally:
        consumer.close()


@contextmanager
def _explained(topic: Topic, last: list[str] | None = None) -> Generator[None]:
    try:
        yield
    except KafkaException as error:
        code = error.args[0].code() if error.args else None
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            move = "there is no such topic: check its name"
        elif code in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
            more = f"; {last[0]}" if last else ""
            move = f"no broker answers{more}: check the address, and --client-config for TLS, SASL"
        else:
            move = "check the topic, and --client-config for TLS, SASL and permissions"
        raise InputFault(f"{topic}: {move} ({_reason(error)})") from error


def _reason(error: KafkaException) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)
