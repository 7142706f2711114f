"""The default settings of client libraries, as far as delivery guarantees depend on them.

For each library, the suite `delivery` has a setting (an application and its clients) that imitates
the library's defaults. The suite checks the claim `default_is_at_least_once` in this setting. For
librdkafka, the claim is also checked with a real client, confluent-kafka. Only librdkafka breaks
the claim: it may commit a record as soon as the application has received the record. The other
libraries commit only the records of earlier polls.

Source: Java: ConsumerConfig, ProducerConfig, ConsumerCoordinator.maybeAutoCommitOffsetsAsync;
librdkafka: CONFIGURATION.md and its wiki, "Consumer offset management" (what is committed is "the
last message handed to the application"); franz-go: package kgo, AutoCommitInterval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDefaults:
    """The default settings of a client library, and the suite's setting that imitates them."""

    library: str
    commits: str
    every_ms: int  # auto.commit.interval.ms
    starts_at: str  # auto.offset.reset, for a group without a committed offset
    acks: str
    retries: str
    setting: str
    is_at_least_once: bool


CLIENT_DEFAULTS: Final = (
    ClientDefaults(
        library="Java client, 3.0 and later",
        commits="in a poll, the records of earlier polls",
        every_ms=5_000,
        starts_at="latest",
        acks="all, idempotent",
        retries="until delivery.timeout.ms (120 s)",
        setting="commits in poll",
        is_at_least_once=True,
    ),
    ClientDefaults(
        library="librdkafka (confluent-kafka for Python, Go, .NET)",
        commits="in a thread, the records handed to the application",
        every_ms=5_000,
        starts_at="latest",
        acks="all",
        retries="until message.timeout.ms (300 s)",
        setting="commits behind",
        is_at_least_once=False,
    ),
    ClientDefaults(
        library="franz-go",
        commits="in a goroutine, the records of earlier polls",
        every_ms=5_000,
        starts_at="earliest",
        acks="all, idempotent",
        retries="without a limit",
        setting="commits in poll",
        is_at_least_once=True,
    ),
)
