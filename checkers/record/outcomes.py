"""The outcome of a librdkafka operation: `ok`, `fail` (it never happened) or `info` (unknown).

A delivery report without an error is `ok`. With an error it is `fail` only if the refusal depends
on nothing but the request and the static configuration of the cluster. Every earlier attempt met
the same refusal, and the record was never appended. Any other error may be the last of several
attempts, an earlier one of which was applied although its response was lost: `info`. Examples are
NOT_ENOUGH_REPLICAS, which refuses only this attempt, and all of librdkafka's own errors (time-outs,
purged queues, transport). librdkafka has more precise information (`rd_kafka_message_status`), but
its Python binding does not expose it.

A transaction is `ok` if its commit succeeded, and `fail` if its abort succeeded: then no commit of
it was applied. `of_transaction` decides the other cases.

Source: librdkafka, "Idempotent Producer" and "Message reliability" in INTRODUCTION.md.
"""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import KafkaError

from model.histories import Outcome

NEVER_APPENDED: Final[frozenset[int]] = frozenset({
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_REQUIRED_ACKS,
    KafkaError.INVALID_TIMESTAMP,
    KafkaError.POLICY_VIOLATION,
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
})  # fmt: skip
FENCED: Final[frozenset[int]] = frozenset({
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
})  # fmt: skip


def of_delivery(error: Any) -> Outcome:
    """Returns the outcome of a send, from the KafkaError of its delivery report or None."""
    if error is None:
        return "ok"
    return "fail" if error.code() in NEVER_APPENDED else "info"


def reason(error: Any) -> str | None:
    """Returns the error as text for a history."""
    return None if error is None else f"{error.name()}: {error.str()}"


def of_transaction(error: Any, *, requested: bool, replaced: bool) -> Outcome:
    """Returns the outcome of a transaction whose commit and abort both failed.

    `requested` is true if the producer requested the commit. Without a request nothing can have
    committed. With a request, an attempt may have been applied although its response was lost,
    unless the producer had been `replaced` before and the response is that it is fenced.
    """
    fenced = error.code() in FENCED
    return "fail" if not requested or (replaced and fenced) else "info"
