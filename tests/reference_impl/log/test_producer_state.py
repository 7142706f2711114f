"""The leader's checks of a producer's next batch: epoch, sequence number, and retries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import (
    REMEMBERED_BATCHES,
    Duplicate,
    InSequence,
    ProducerStates,
    Rejected,
    SequenceCheck,
    Verification,
)
from reference_impl.log.record import Record
from reference_impl.log.record_batch import SEQUENCE_NUMBERS, encode
from reference_impl.log.segment import Batch
from reference_impl.protocol.messages import ErrorCode

OUT_OF_ORDER = Rejected(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def batch(
    sequence: int, *, records: int = 1, producer_epoch: int = 0, pid: int = 7, at: int = 0
) -> Batch:
    return Batch.of(
        encode(
            [Record(value=b"v")] * records,
            base_offset=Offset(at),
            leader_epoch=LeaderEpoch(0),
            producer_id=ProducerId(pid),
            producer_epoch=ProducerEpoch(producer_epoch),
            base_sequence=Sequence(sequence),
        )
    )


def after(*batches: Batch) -> ProducerStates:
    states = ProducerStates()
    for batch in batches:
        states = states.after(batch)
    return states


def judged(states: ProducerStates, batch: Batch) -> SequenceCheck:
    return states.check_sequence(batch.header)


def test_the_next_sequence_number_is_accepted_and_a_gap_is_not() -> None:
    states = after(batch(0, records=3))
    assert judged(states, batch(3)) == InSequence()
    assert judged(states, batch(4)) == OUT_OF_ORDER
    assert judged(states, batch(2)) == OUT_OF_ORDER


def test_a_retry_is_recognized_with_its_original_offset() -> None:
    states = after(batch(0, at=10), batch(1, records=2, at=11))
    answer = judged(states, batch(1, records=2))
    assert isinstance(answer, Duplicate)
    assert (answer.batch.base_offset, answer.batch.next_offset) == (11, 13)
    # The same first number with another length is no retry.
    assert judged(states, batch(1)) == OUT_OF_ORDER


def test_five_batches_are_remembered() -> None:
    states = after(*(batch(number, at=number) for number in range(REMEMBERED_BATCHES + 1)))
    assert judged(states, batch(0)) == OUT_OF_ORDER
    assert isinstance(judged(states, batch(1)), Duplicate)


def test_sequence_numbers_wrap_after_the_largest() -> None:
    states = after(batch(SEQUENCE_NUMBERS - 2, records=2))
    assert judged(states, batch(0)) == InSequence()
    states = after(batch(SEQUENCE_NUMBERS - 1, records=2))
    assert judged(states, batch(1)) == InSequence()


def test_a_new_producer_epoch_starts_at_zero_and_forgets() -> None:
    states = after(batch(0), batch(1))
    assert judged(states, batch(2, producer_epoch=1)) == OUT_OF_ORDER
    assert judged(states, batch(0, producer_epoch=1)) == InSequence()
    states = states.after(batch(0, producer_epoch=1))
    assert judged(states, batch(2)) == Rejected(ErrorCode.INVALID_PRODUCER_EPOCH)
    assert judged(states, batch(1)) == Rejected(ErrorCode.INVALID_PRODUCER_EPOCH)


def test_an_unknown_producer_may_begin_anywhere() -> None:
    """The first batch of an unknown producer may have any sequence number.

    Kafka: ProducerAppendInfo.checkSequence; KAFKA-15591.
    """
    assert judged(ProducerStates(), batch(3)) == InSequence()


def test_only_the_first_batch_of_a_v2_transaction_must_begin_at_zero() -> None:
    """The first batch of a new producer id must have sequence number 0 in V2, but not in V1.

    Kafka: ProducerAppendInfo.checkSequence, VerificationStateEntry.supportsEpochBump.
    """
    v1, v2 = (Verification(Sequence(3), adds) for adds in (False, True))
    check = ProducerStates().check_sequence
    assert check(batch(3).header, v1) == InSequence()
    assert check(batch(3).header, v2) == OUT_OF_ORDER
    assert check(batch(0).header, v2) == InSequence()
    assert after(batch(0)).check_sequence(batch(1).header, v2) == InSequence()


def test_the_first_batch_of_a_v2_transaction_begins_with_0() -> None:
    """Kafka: ProducerAppendInfo.checkSequence."""
    adding = Verification(Sequence(1), adds_partition=True)
    assert ProducerStates().check_sequence(batch(1).header, adding) == OUT_OF_ORDER
    assert after(batch(0)).check_sequence(batch(1).header, adding) == InSequence()


def test_a_batch_does_not_go_before_a_lower_one_that_waits_for_verification() -> None:
    """A batch is out of order while a batch with a lower sequence number waits for verification.

    Kafka: VerificationStateEntry.lowestSequence.
    """
    waiting = Verification(Sequence(0), adds_partition=False)
    assert ProducerStates().check_sequence(batch(1).header, waiting) == OUT_OF_ORDER
    assert ProducerStates().check_sequence(batch(0).header, waiting) == InSequence()


def test_a_producer_without_an_id_is_accepted_and_has_no_state() -> None:
    plain = Batch.of(encode([Record(value=b"v")]))
    assert judged(ProducerStates(), plain) == InSequence()
    assert ProducerStates().after(plain) == ProducerStates()


@given(st.lists(st.tuples(st.integers(7, 8), st.integers(1, 3), st.booleans()), max_size=15))
def test_the_state_is_computed_from_the_log(appended: list[tuple[int, int, bool]]) -> None:
    log, states = PartitionLog(), ProducerStates()
    following, epochs = {7: 0, 8: 0}, {7: 0, 8: 0}
    for pid, records, new_epoch in appended:
        if new_epoch:
            following[pid], epochs[pid] = 0, epochs[pid] + 1
        data = encode(
            [Record(value=b"v")] * records,
            base_offset=log.end_offset,
            leader_epoch=LeaderEpoch(0),
            producer_id=ProducerId(pid),
            producer_epoch=ProducerEpoch(epochs[pid]),
            base_sequence=Sequence(following[pid]),
        )
        following[pid] += records
        log, states = log.append(Batch.of(data)), states.after(Batch.of(data))
    assert states == ProducerStates.of(log.batches())
