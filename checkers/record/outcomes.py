"""The outcome of an operation of librdkafka: `ok`, `fail` (it had no effect) or `info` (unknown).

An error is `fail` if it depends only on the request and the static configuration of the cluster. In
this case, every earlier attempt must have been refused, too. Any other error is `info`, because an
earlier attempt may have been applied although its response was lost. Examples are
NOT_ENOUGH_REPLICAS, and librdkafka's own errors (time-outs, purged queues, transport). A
transaction is `ok` if its commit succeeded, and `fail` if its abort succeeded.

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
    """Returns the outcome of a send. `error` is the error of its delivery report: a KafkaError,
    or None for a success.
    """
    if error is None:
        return "ok"
    return "fail" if error.code() in NEVER_APPENDED else "info"


def offset_of(message: Any) -> int | None:
    """Returns the offset of a delivered message, or None if the client does not know the offset."""
    # None for DUPLICATE_SEQUENCE_NUMBER: librdkafka counts it as a success, but it has no offset
    offset: int | None = message.offset()
    return offset


def reason(error: Any) -> str | None:
    return None if error is None else f"{error.name()}: {error.str()}"


def of_transaction(error: Any, *, requested: bool, replaced: bool) -> Outcome:
    """Returns the outcome of a transaction if neither its commit nor its abort succeeded.

    The outcome is `fail` if the producer never requested the commit (`requested` is false). It is
    also `fail` if two conditions hold: another producer replaced this producer before the request
    (`replaced`), and `error` is a fencing error. Otherwise it is `info`: the commit may have been
    applied although its response was lost.
    """
    fenced = error.code() in FENCED
    return "fail" if not requested or (replaced and fenced) else "info"
