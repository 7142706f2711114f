"""The outcome of a delivery report is never `fail` if the record may have been persisted."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from checkers.record.outcomes import NEVER_APPENDED, of_delivery, reason

EVERY_CODE = sorted(
    value
    for name, value in vars(KafkaError).items()
    if name.strip("_").isupper() and isinstance(value, int) and value != KafkaError.NO_ERROR
)

# Errors behind which the record may be in the log: from librdkafka's "possibly persisted" cases.
POSSIBLY_PERSISTED = (
    KafkaError._MSG_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._PURGE_INFLIGHT,
    KafkaError._PURGE_QUEUE,  # a retry may wait there
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._GAPLESS_GUARANTEE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.UNKNOWN,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.NOT_ENOUGH_REPLICAS,  # this attempt was refused, an earlier one may have been taken
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.UNKNOWN_PRODUCER_ID,
    KafkaError.INVALID_PRODUCER_EPOCH,
)


def test_no_error_is_ok() -> None:
    assert of_delivery(None) == "ok"
    assert reason(None) is None


@pytest.mark.parametrize("code", POSSIBLY_PERSISTED)
def test_an_error_after_which_the_record_may_be_persisted_is_info(code: int) -> None:
    assert of_delivery(KafkaError(code)) == "info"


@pytest.mark.parametrize("code", sorted(NEVER_APPENDED))
def test_an_error_that_every_attempt_gets_is_fail(code: int) -> None:
    assert of_delivery(KafkaError(code)) == "fail"


def test_every_other_error_is_info() -> None:
    assert len(EVERY_CODE) > 150
    outcomes = {code: of_delivery(KafkaError(code)) for code in EVERY_CODE}
    assert {code for code, outcome in outcomes.items() if outcome != "info"} == NEVER_APPENDED


def test_the_reason_names_the_error() -> None:
    given = reason(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    assert given is not None
    assert given.startswith("MSG_SIZE_TOO_LARGE: ")
