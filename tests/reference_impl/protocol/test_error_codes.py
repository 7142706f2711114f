"""The error codes are Kafka's: their numbers, and which of them a client may answer by a retry."""

from __future__ import annotations

from kio.schema.errors import ErrorCode as KafkaErrorCode

from reference_impl.protocol.messages import RETRIABLE, ErrorCode

# Kafka lets clients retry these too. No simulated client gets them, or it handles them by itself.
NO_PLAIN_RETRY = {
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    ErrorCode.ELECTION_NOT_NEEDED,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}


def test_each_error_has_the_number_of_kafka() -> None:
    assert {error.name.lower(): error.value for error in ErrorCode} == {
        KafkaErrorCode(error.value).name: error.value for error in ErrorCode
    }


def test_an_error_is_retriable_as_in_kafka() -> None:
    retriable = {error for error in ErrorCode if KafkaErrorCode(error.value).retriable}
    assert retriable - NO_PLAIN_RETRY == RETRIABLE
    assert retriable >= NO_PLAIN_RETRY
