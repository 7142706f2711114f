"""The outcome of a librdkafka operation: `ok`, `fail` (it never happened) or `info` (unknown).

A delivery report without an error is `ok`. A report with an error is `fail` only if the refusal
depends on nothing but the request and the static configuration of the cluster. Then every earlier
attempt met the same refusal, and the record was never appended. Any other error is `info`: an
earlier attempt may have been applied although its response was lost. Examples are
NOT_ENOUGH_REPLICAS, which refuses only this attempt, and all of librdkafka's own errors (time-outs,
purged queues, transport). librdkafka has more precise information (`rd_kafka_message_status`), but
its Python binding does not expose it.

A transaction is `ok` if its commit succeeded. It is `fail` if its abort succeeded, because then no
commit of this transaction was applied. `of_transaction` decides the other cases.

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
    """Returns the outcome of a send; the error in its delivery report is a KafkaError or None."""
    if error is None:
        return "ok"
    return "fail" if error.code() in NEVER_APPENDED else "info"


def reason(error: Any) -> str | None:
    """Returns the text of the error that the history records."""
    return None if error is None else f"{error.name()}: {error.str()}"


def of_transaction(error: Any, *, requested: bool, replaced: bool) -> Outcome:
    """Returns the outcome of a transaction whose commit and abort both failed.

    `requested` is true if the producer requested the commit. Without a request the transaction
    cannot have committed: the outcome is `fail`. After a request, an attempt may have been applied
    although its response was lost: the outcome is `info`. One exception is `fail`: another producer
    had `replaced` this one before the request, and the error is that this producer is fenced.
    """
    fenced = error.code() in FENCED
    return "fail" if not requested or (replaced and fenced) else "info"
