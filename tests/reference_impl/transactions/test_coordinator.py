"""Transactions end to end: coordinator, leaders and producers, as transcripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import ProducerId, TopicPartition
from reference_impl.node.bugs import Bug
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE, java_hash
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
    WrittenTxnMarker,
)
from reference_impl.transactions.metadata import PREDECESSORS, TransactionMetadata, TxnState
from tests.reference_impl.transactional import Client, state

Conversation = Any  # of conftest
Converse = Callable[..., Conversation]
A, B = TopicPartition("a", 0), TopicPartition("b", 0)
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT
V1, V2 = TransactionVersion.V1, TransactionVersion.V2
NONE = ErrorCode.NONE


@pytest.fixture
def talk(converse: Converse) -> Conversation:
    talk = converse()
    for topic in ("a", "b"):
        talk.create(topic)
    return talk


both = pytest.mark.parametrize("version", TransactionVersion)


@both
def test_a_transaction_is_seen_on_all_its_topic_partitions_or_on_none(
    talk: Conversation, version: TransactionVersion
) -> None:
    client = Client(talk, version).begin()
    assert (client.send(A, "a1"), client.send(B, "b1")) == (NONE, NONE)
    assert (talk.committed(A), talk.committed(B)) == ([], [])
    assert state(talk).state is TxnState.ONGOING
    assert client.end(COMMIT).error is NONE
    assert (talk.committed(A), talk.committed(B)) == (["a1"], ["b1"])
    assert state(talk).state is TxnState.COMPLETE_COMMIT
    client.send(A, "a2")
    client.send(B, "b2")
    assert client.end(ABORT).error is NONE
    assert (talk.committed(A), talk.committed(B)) == (["a1"], ["b1"])
    assert (talk.unstable(A), talk.unstable(B)) == (0, 0)


def test_in_v1_the_epoch_stays_and_in_v2_each_transaction_has_its_own(talk: Conversation) -> None:
    for version, epochs in ((V1, [0, 0, 0]), (V2, [1, 2, 3])):
        client = Client(talk, version).begin()
        seen = [client.producer[1]]
        for _ in range(2):
            client.send(A, "x")
            client.end(COMMIT)
            seen.append(client.producer[1])
        assert seen == epochs


def test_a_new_instance_fences_the_old_one_and_aborts_what_it_left(talk: Conversation) -> None:
    zombie = Client(talk).begin()
    zombie.send(A, "left")
    heir = Client(talk).begin()
    assert heir.producer[1] == zombie.producer[1] + 2  # nobody is given the epoch of the fence
    assert zombie.send(A, "late", added=False) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert zombie.add(B) is ErrorCode.PRODUCER_FENCED
    assert zombie.end(COMMIT).error is ErrorCode.PRODUCER_FENCED
    heir.send(A, "mine")
    heir.end(COMMIT)
    assert talk.committed(A) == ["mine"]


def test_bug_zombie_not_fenced_lets_two_instances_write(converse: Converse) -> None:
    talk = converse(bugs=frozenset({Bug.ZOMBIE_NOT_FENCED}))
    talk.create("a")
    zombie, heir = Client(talk).begin(), Client(talk).begin()
    assert zombie.send(A, "late") is NONE
    assert heir.end(COMMIT).error is NONE
    assert talk.committed(A) == ["late"]


@both
def test_what_the_coordinator_was_not_told_of_is_refused(
    talk: Conversation, version: TransactionVersion
) -> None:
    """A hanging transaction: nobody would ever write its marker."""
    client = Client(talk, version).begin()
    client.send(A, "a1")
    late = Client(talk, V1)
    late.producer, late.sequences = client.producer, {A: 1}
    client.end(ABORT)
    refused = late.send(A, "late", added=False)
    assert refused is (
        ErrorCode.INVALID_TXN_STATE if version is V1 else ErrorCode.INVALID_PRODUCER_EPOCH
    )
    assert talk.unstable(A) == 0


def test_without_verification_a_late_batch_hangs_readers_for_ever(converse: Converse) -> None:
    talk = converse(config={"verifies_transactions": False})
    talk.create("a")
    client = Client(talk).begin()
    client.send(A, "a1")
    client.end(ABORT)
    assert client.send(A, "late", added=False) is NONE
    talk.pass_time(200_000)
    assert talk.unstable(A) == 1


def test_in_v1_a_delayed_end_ends_the_next_transaction_and_in_v2_it_is_a_retry(
    talk: Conversation,
) -> None:
    """KAFKA-17754: nothing in the request of V1 says which transaction it means."""
    for version, place, seen in ((V1, A, ["one", "two"]), (V2, B, ["one"])):
        client = Client(talk, version).begin()
        client.send(place, "one")
        delayed = EndTxn(**client.who, result=COMMIT, version=version)
        client.end(COMMIT)
        client.send(place, "two")
        talk.ask(delayed, client.coordinator())
        client.end(ABORT)
        assert talk.committed(place) == seen


def test_a_retry_of_the_end_is_answered_like_the_first(talk: Conversation) -> None:
    client = Client(talk, V2).begin()
    client.send(A, "one")
    request = EndTxn(**client.who, result=COMMIT, version=V2)
    first = client.end(COMMIT)
    assert talk.ask(request, client.coordinator()) == first
    other = replace(request, result=ABORT)
    assert talk.ask(other, client.coordinator()).error is ErrorCode.INVALID_TXN_STATE


@both
def test_a_transaction_that_is_open_too_long_is_aborted_and_its_producer_fenced(
    talk: Conversation, version: TransactionVersion
) -> None:
    client = Client(talk, version).begin(timeout_ms=3_000)
    client.send(A, "slow")
    talk.pass_time(2_900)
    assert talk.unstable(A) == 1
    talk.pass_time(2_000)
    assert (talk.unstable(A), talk.committed(A)) == (0, [])
    assert state(talk).state is TxnState.COMPLETE_ABORT
    assert client.send(A, "on", added=False) is ErrorCode.INVALID_PRODUCER_EPOCH
    # In V2 the epoch before the abort's is that of a retry, and what is retried had another result.
    refusal = ErrorCode.PRODUCER_FENCED if version is V1 else ErrorCode.INVALID_TXN_STATE
    assert client.end(COMMIT).error is refusal


def test_epochs_run_out_and_another_producer_id_goes_on(talk: Conversation) -> None:
    client = Client(talk, V2).begin()
    first = client.producer[0]
    (place,) = [p for p, r in talk.nodes[1].local_coordinators.roles.items() if r.transactions]
    role = talk.nodes[1].local_coordinators.roles[place]
    exhausted = 32_766
    object.__setattr__(role.transactions["t"], "producer_epoch", exhausted)
    client.producer = (first, exhausted)
    assert client.send(A, "last") is NONE
    assert client.end(COMMIT).error is NONE
    second, epoch = client.producer
    assert second != first
    assert epoch == 0
    assert client.send(A, "first") is NONE
    assert client.end(COMMIT).error is NONE
    assert talk.committed(A) == ["last", "first"]


def test_the_offsets_of_a_group_are_part_of_a_transaction(talk: Conversation) -> None:
    client = Client(talk).begin()
    talk.coordinator("g", transactional=False)
    request = AddOffsetsToTxn(**client.who, group="g")
    assert talk.ask(request, client.coordinator()).error is NONE
    assert [place.topic for place in state(talk).topic_partitions] == [CONSUMER_OFFSETS]


@pytest.mark.parametrize(
    ("timeout_ms", "error"),
    [(0, ErrorCode.INVALID_TRANSACTION_TIMEOUT), (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT)],
)
def test_a_timeout_has_a_maximum(talk: Conversation, timeout_ms: int, error: ErrorCode) -> None:
    at = talk.coordinator("t", transactional=True)
    request = InitProducerId(transactional_id="t", timeout_ms=timeout_ms)
    assert talk.ask(request, at).error is error


# ---------------------------------------------------------------- failover and lost messages


def test_a_new_coordinator_ends_what_its_log_says_is_decided(converse: Converse) -> None:
    talk = converse(brokers=3)
    talk.create("a")
    client = Client(talk).begin()
    client.send(A, "one")
    first = client.coordinator()

    def markers(_to: int, told: object) -> bool:
        return isinstance(told, RequestReceived) and isinstance(told.request, WriteTxnMarker)

    assert talk.leader(A) != first  # what a broker says to itself can't be lost
    talk.held = markers
    assert client.end(COMMIT).error is NONE
    assert talk.committed(A) == []
    del talk.nodes[first]
    talk.held = lambda _to, _told: False
    talk.pass_time(15_000)
    (place,) = {
        place
        for n in (1, 2, 3)
        if n in talk.nodes
        for place, role in talk.nodes[n].local_coordinators.roles.items()
        if getattr(role, "transactions", {})
    }
    assert place.topic == TRANSACTION_STATE
    assert talk.committed(A) == ["one"]


def test_a_marker_whose_answer_is_lost_is_written_again(converse: Converse) -> None:
    talk = converse(brokers=3)
    talk.create("a")
    client = Client(talk, V2).begin()
    client.send(A, "one")
    lost: list[object] = []

    def first_answer(_to: int, told: object) -> bool:
        is_answer = isinstance(told, ResponseReceived) and isinstance(
            told.response, WrittenTxnMarker
        )
        if is_answer and not lost:
            lost.append(told)
            return True
        return False

    talk.held = first_answer
    assert client.end(COMMIT).error is NONE
    at = client.coordinator()
    if lost:
        assert state(talk, at).state is TxnState.PREPARE_COMMIT
    talk.pass_time(40_000)
    assert state(talk, at).state is TxnState.COMPLETE_COMMIT
    assert talk.committed(A) == ["one"]


def test_bug_marker_on_one_partition_tears_a_transaction(converse: Converse) -> None:
    talk = converse(bugs=frozenset({Bug.MARKER_ON_ONE_PARTITION}))
    for topic in ("a", "b"):
        talk.create(topic)
    client = Client(talk).begin()
    client.send(A, "a1")
    client.send(B, "b1")
    client.end(COMMIT)
    assert (talk.committed(A), talk.committed(B)) == (["a1"], [])


# ---------------------------------------------------------------- the table


def test_every_state_is_entered_as_the_table_says_and_in_no_other_way() -> None:
    for before in TxnState:
        known = TransactionMetadata(
            transactional_id="t", producer_id=ProducerId(1), timeout_ms=1, state=before
        )
        for after in TxnState:
            if before in PREDECESSORS[after]:
                assert known.moved(after).state is after
            else:
                with pytest.raises(ValueError, match=f"{before.value} -> {after.value}"):
                    known.moved(after)


def test_a_transactional_id_is_read_from_the_log_as_it_was_written() -> None:
    known = TransactionMetadata(
        transactional_id="t",
        producer_id=ProducerId(7),
        timeout_ms=1,
        state=TxnState.ONGOING,
        topic_partitions=(A, B),
        version=V2,
    )
    assert TransactionMetadata.of(known.entry()) == known


def test_a_key_is_placed_as_java_places_it() -> None:
    keys = ("", "a", "hello", "polygenelubricants", "\U0001f600")
    assert [java_hash(key) for key in keys] == [0, 97, 99162322, 0, 1772899]
