"""How long a transactional id is known, and what late and failed requests may not do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import TopicPartition
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.step import RequestReceived
from reference_impl.node.timeouts import Timeouts
from reference_impl.protocol.messages import ErrorCode, InitProducerId, NodeId
from reference_impl.protocol.transactions import (
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TxnState
from tests.reference_impl.transactional import Client, state

Conversation = Any  # of conftest
Converse = Callable[..., Conversation]
A = TopicPartition("a", 0)
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT
V1, V2 = TransactionVersion.V1, TransactionVersion.V2
NONE = ErrorCode.NONE
A_MINUTE = Timeouts(
    replica_lag_ms=600, retention_check_ms=1_000, transactional_id_expiration_ms=60_000
)


def begun(converse: Converse, brokers: int = 1, **how: Any) -> Conversation:
    talk = converse(brokers=brokers, **how)
    talk.create("a")
    return talk


def known_ids(talk: Conversation) -> set[str]:
    return {
        id_
        for node in talk.nodes.values()
        for role in getattr(getattr(node, "local_coordinators", None), "roles", {}).values()
        if isinstance(role, TransactionCoordinator)
        for id_ in role.transactions
    }


# ---------------------------------------------------------------- expiry


@pytest.mark.parametrize("result", TxnResult)
def test_an_id_that_rests_for_too_long_is_forgotten(converse: Converse, result: TxnResult) -> None:
    talk = begun(converse, timeouts=A_MINUTE)
    client = Client(talk, V2).begin()
    client.send(A, "one")
    client.end(result)
    talk.pass_time(50_000)
    assert known_ids(talk) == {"t"}
    client.send(A, "two")  # what it does counts
    client.end(result)
    talk.pass_time(50_000)
    assert known_ids(talk) == {"t"}
    talk.pass_time(15_000)
    assert known_ids(talk) == set()
    assert client.add(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert client.end(COMMIT).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    before = client.producer
    assert client.begin().producer[0] != before[0]


def test_a_new_coordinator_has_forgotten_it_too(converse: Converse) -> None:
    talk = begun(converse, brokers=3, timeouts=A_MINUTE)
    client = Client(talk).begin()
    talk.pass_time(70_000)
    assert known_ids(talk) == set()
    talk.nodes.pop(NodeId(client.coordinator()))
    talk.pass_time(15_000)
    assert known_ids(talk) == set()


def test_an_open_transaction_and_one_that_waits_for_its_markers_are_not_forgotten(
    converse: Converse,
) -> None:
    talk = begun(converse, brokers=3, timeouts=A_MINUTE)
    client = Client(talk).begin(timeout_ms=300_000)
    client.send(A, "one")
    talk.pass_time(90_000)
    assert state(talk, client.coordinator()).state is TxnState.ONGOING
    assert talk.leader(A) != client.coordinator()  # what a broker says to itself can't be lost
    talk.held = lambda _to, told: (
        isinstance(told, RequestReceived) and isinstance(told.request, WriteTxnMarker)
    )
    assert client.end(COMMIT).error is NONE
    talk.pass_time(90_000)
    assert state(talk, client.coordinator()).state is TxnState.PREPARE_COMMIT
    talk.held = lambda _to, _told: False
    talk.pass_time(40_000)
    assert talk.committed(A) == ["one"]


def test_a_zombie_of_a_forgotten_id_comes_back_if_its_client_begins_anew(
    converse: Converse,
) -> None:
    """KAFKA-18019: the broker can't know it any more, so the client must not try."""
    talk = begun(converse, timeouts=A_MINUTE)
    zombie = Client(talk).begin()
    newer = Client(talk).begin()
    assert zombie.add(A) is ErrorCode.PRODUCER_FENCED
    newer.send(A, "5")
    newer.end(COMMIT)
    talk.pass_time(70_000)
    assert zombie.add(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING  # fatal, in a client of 4.0
    zombie.begin()
    zombie.send(A, "5")
    zombie.end(COMMIT)
    assert talk.committed(A) == ["5", "5"]


# ---------------------------------------------------------------- seeded bugs


@pytest.mark.parametrize(
    ("bugs", "raised"), [(NO_BUGS, 0), (frozenset({Bug.FAILED_FENCE_COUNTS}), 3)]
)
def test_bug_failed_fence_counts_takes_an_epoch_for_each_try(
    converse: Converse, bugs: Bugs, raised: int
) -> None:
    talk = begun(converse, brokers=3, bugs=bugs)
    client = Client(talk, V2).begin()
    client.send(A, "one")
    at = client.coordinator()
    before = state(talk, at).producer_epoch
    # Too few replicas are in sync: nothing can be written to the log of the coordinator.
    for number in {1, 2, 3} - {at}:
        talk.nodes.pop(NodeId(number))
    talk.pass_time(20_000)
    request = InitProducerId(transactional_id="t")
    for _ in range(3):
        assert talk.ask(request, at).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert state(talk, at).producer_epoch - before == raised


@pytest.mark.parametrize("bugs", [NO_BUGS, frozenset({Bug.DELAYED_END_ACCEPTED})])
@pytest.mark.parametrize("result", TxnResult)
def test_bug_delayed_end_accepted_ends_the_next_transaction(
    converse: Converse, bugs: Bugs, result: TxnResult
) -> None:
    talk = begun(converse, bugs=bugs)
    client = Client(talk, V2).begin()
    client.send(A, "one")
    delayed = EndTxn(**client.who, result=result, version=V2)
    client.end(result)
    client.send(A, "two")
    talk.ask(delayed, client.coordinator())
    last = ABORT if result is COMMIT else COMMIT
    client.end(last)
    told = ["one"] if result is COMMIT else ["two"]
    torn = ["one", "two"] if result is COMMIT else []  # what was aborted is read, or not
    assert talk.committed(A) == (told if bugs == NO_BUGS else torn)


@pytest.mark.parametrize(
    ("bugs", "unstable"), [(NO_BUGS, 0), (frozenset({Bug.LATE_PRODUCE_ACCEPTED}), 1)]
)
def test_bug_late_produce_accepted_opens_a_transaction_that_nobody_ends(
    converse: Converse, bugs: Bugs, unstable: int
) -> None:
    talk = begun(converse, bugs=bugs)
    client = Client(talk, V1).begin(timeout_ms=5_000)
    client.send(A, "one")
    client.end(ABORT)
    late = client.send(A, "late", added=False)  # as a copy that was on its way for long
    assert (late is NONE) == bool(unstable)
    talk.pass_time(60_000)
    assert talk.unstable(A) == unstable
