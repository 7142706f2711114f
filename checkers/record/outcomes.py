"""The outcome of a librdkafka operation: `ok`, `fail` (it never happened) or `info` (unknown).

An error is `fail` if it depends only on the request and the static configuration of the cluster:
every earlier attempt was refused too. Any other error is `info`, because an earlier attempt may
have been applied although its response was lost: for example NOT_ENOUGH_REPLICAS, and librdkafka's
own errors (time-outs, purged queues, transport). A transaction is `ok` if its commit succeeded, and
`fail` if its abort succeeded.

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
    """Returns the outcome of a send from its delivery report's error, a KafkaError or None."""
    if error is None:
        return "ok"
    return "fail" if error.code() in NEVER_APPENDED else "info"


def offset_of(message: Any) -> int | None:
    """Returns the offset of a delivered message; None if the client does not know it."""
    # None for DUPLICATE_SEQUENCE_NUMBER: librdkafka counts it as a success, but it has no offset
    offset: int | None = message.offset()
    return offset


def reason(error: Any) -> str | None:
    return None if error is None else f"{error.name()}: {error.str()}"


def of_transaction(error: Any, *, requested: bool, replaced: bool) -> Outcome:
    """Returns the outcome of a transaction whose commit and abort both failed.

    It is `fail` if the producer never requested the commit, or was replaced before the request and
    got a fencing error. Otherwise it is `info`: a response may have been lost after the commit was
    applied.
    """
    fenced = error.code() in FENCED
    return "fail" if not requested or (replaced and fenced) else "info"
