"""How an operation of librdkafka ended: it happened, it did not, or nobody knows.

A delivery report without an error is `ok`. One with an error is `fail` only for refusals that
depend on nothing but the request and the cluster's standing configuration, so that every earlier
attempt of the same record met the same: the record was never appended. Any other error may be the
last of several attempts, an earlier one of which was applied and its answer lost: `info`. That
includes NOT_ENOUGH_REPLICAS, which refuses this attempt and says nothing of the one before, and
every error of librdkafka's own (time-outs, purged queues, transport). librdkafka knows more
(`rd_kafka_message_status`), its Python binding does not tell.

A transaction is `ok` once its commit was, and `fail` once its abort was: the client then knows that
no commit of it was applied. Everything else is `of_transaction`.

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
    """The outcome of a send whose delivery report carries this KafkaError, or None."""
    if error is None:
        return "ok"
    return "fail" if error.code() in NEVER_APPENDED else "info"


def reason(error: Any) -> str | None:
    """The error as a history tells it."""
    return None if error is None else f"{error.name()}: {error.str()}"


def of_transaction(error: Any, *, asked: bool, replaced: bool) -> Outcome:
    """The outcome of a transaction that neither committed nor was aborted by its own producer.

    `asked`: its commit was asked for. If it was not, nothing can have committed it. If it was, an
    earlier attempt may have been applied and its answer lost; but not when the producer was known
    to be `replaced` before, and the answer is that it is fenced.
    """
    fenced = error.code() in FENCED
    return "fail" if not asked or (replaced and fenced) else "info"
