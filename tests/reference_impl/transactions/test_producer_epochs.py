"""The producer epochs of a transactional id, case by case as in Apache Kafka 4.3.

Each test names the method of Kafka whose rule it checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import ProducerEpoch, ProducerId, TopicPartition
from reference_impl.node.step import RequestReceived
from reference_impl.protocol.messages import ErrorCode, InitializedProducerId, InitProducerId
from reference_impl.protocol.transactions import TransactionVersion, TxnResult, WriteTxnMarker
from reference_impl.transactions.metadata import LAST_EPOCH, TxnState
from tests.reference_impl.transactional import Client, state

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
A = TopicPartition("a", 0)
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT
V1, V2 = TransactionVersion.V1, TransactionVersion.V2
NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS

both = pytest.mark.parametrize("version", TransactionVersion)


@pytest.fixture
def cluster(start_cluster: StartCluster) -> InstantCluster:
    cluster = start_cluster()
    cluster.create("a")
    return cluster


def continued(client: Client, producer: tuple[int, int]) -> InitializedProducerId:
    """Sends an InitProducerId with a producer id and epoch (KIP-360); returns the response."""
    request = InitProducerId(
        transactional_id="t",
        producer_id=ProducerId(producer[0]),
        producer_epoch=ProducerEpoch(producer[1]),
    )
    while (answer := client.cluster.call(request, client.coordinator())).error is BUSY:
        client.cluster.pass_time(50)
    assert isinstance(answer, InitializedProducerId)
    return answer


def exhaust(cluster: InstantCluster, epoch: int = LAST_EPOCH) -> None:
    object.__setattr__(state(cluster), "producer_epoch", epoch)


# ---------------------------------------------------------------- InitProducerId (KIP-360)


def test_a_continued_instance_cannot_end_the_transaction_before(cluster: InstantCluster) -> None:
    """A producer that continues after an error cannot end the transaction that was open before.

    InitProducerId aborts this transaction, and the state becomes Empty. EndTxn then gets
    PRODUCER_FENCED with the old epoch (TransactionCoordinator.endTransaction), and
    INVALID_TXN_STATE with the new epoch (TransactionCoordinator.endTransactionWithTV1).

    Kafka: TransactionMetadata.prepareIncrementProducerEpoch.
    """
    for version, error in ((V2, FENCED), (V1, ErrorCode.INVALID_TXN_STATE)):
        client = Client(cluster, version).begin()
        client.send(A, "open")
        number, epoch = client.producer
        answer = continued(client, client.producer)  # fences the transaction, then continues
        assert (answer.producer_id, answer.producer_epoch) == (number, epoch + 1)
        assert state(cluster).state is TxnState.EMPTY
        if version is V1:
            client.producer = (number, epoch + 1)
        assert client.end(ABORT).error is error


def test_a_retry_gets_the_same_epoch_and_a_zombie_is_fenced(cluster: InstantCluster) -> None:
    """If InitProducerId is sent again by the same instance, the response has the same epoch.

    Once a newer instance exists, the old one is fenced.

    Kafka: TransactionMetadata.prepareIncrementProducerEpoch.
    """
    client = Client(cluster).begin()
    number, epoch = client.producer
    first = continued(client, (number, epoch))
    assert continued(client, (number, epoch)) == first
    assert first.producer_epoch == epoch + 1
    Client(cluster).begin()
    assert continued(client, (number, epoch)).error is FENCED
    assert continued(client, (number, epoch + 1)).error is FENCED


def test_a_retry_after_the_last_epoch_gets_the_same_new_producer_id(
    cluster: InstantCluster,
) -> None:
    """If InitProducerId with the last epoch is sent again, the new producer id stays the same.

    Kafka: TransactionMetadata.prepareProducerIdRotation.
    """
    client = Client(cluster).begin()
    number = client.producer[0]
    exhaust(cluster)
    first = continued(client, (number, LAST_EPOCH))
    assert first.producer_id != number
    assert first.producer_epoch == 0
    assert continued(client, (number, LAST_EPOCH)) == first


def test_after_the_next_change_the_old_producer_id_is_fenced(cluster: InstantCluster) -> None:
    """Once a client uses its new producer id, a retry with the old one is fenced.

    Kafka: TransactionMetadata.prepareTransitionTo.
    """
    client = Client(cluster, V2).begin()
    number = client.producer[0]
    exhaust(cluster)
    answer = continued(client, (number, LAST_EPOCH))
    client.producer = (answer.producer_id, answer.producer_epoch)
    client.send(A, "of the new id")
    assert continued(client, (number, LAST_EPOCH)).error is FENCED
    assert state(cluster).state is TxnState.ONGOING
    assert client.end(COMMIT).error is NONE


def test_the_last_epoch_may_continue_after_its_transaction_moved_to_a_new_id(
    cluster: InstantCluster,
) -> None:
    """A client with the largest possible epoch may continue after a commit has changed its producer
    id.

    The client then gets the new producer id. Kafka: TransactionMetadata.prepareComplete.
    """
    client = Client(cluster, V2).begin()
    number = client.producer[0]
    exhaust(cluster)
    client.producer = (number, LAST_EPOCH)
    client.send(A, "last")
    client.end(COMMIT)
    answer = continued(client, (number, LAST_EPOCH))
    assert (answer.producer_id, answer.producer_epoch) == client.producer


@both
def test_a_fenced_instance_may_return_before_the_new_one_as_in_kafka(
    cluster: InstantCluster, version: TransactionVersion
) -> None:
    """As in Kafka, an old producer instance may continue while a new instance fences it.

    The fence raises the producer epoch and stores the old instance's epoch as the last epoch. So
    the coordinator takes the next request of the old instance for a retry, and returns the raised
    epoch. The request is InitProducerId, or EndTxn in V2. The spec's bug `fence-looks-like-an-end`
    shows the same.

    Kafka: TransactionMetadata.prepareAbortOrCommit.
    """
    old = Client(cluster, version).begin()
    for _ in range(3):
        old.send(A, "aborted")
        number, epoch = old.producer
        new = InitProducerId(transactional_id="t")
        assert cluster.call(new, old.coordinator()).error is BUSY  # it fences, and is to ask again
        cluster.pass_time(50)
        if version is V2:
            assert old.end(ABORT).error is NONE
        else:
            answer = continued(old, old.producer)
            old.producer, old.sequences = (answer.producer_id, answer.producer_epoch), {}
        assert old.producer == (number, epoch + 1)
    assert Client(cluster).begin().producer[1] == old.producer[1] + 1
    assert old.send(A, "late", added=False) is ErrorCode.INVALID_PRODUCER_EPOCH


# ---------------------------------------------------------------- a busy transactional id


@pytest.fixture
def committing(start_cluster: StartCluster) -> Callable[[TransactionVersion], Client]:
    """Returns a function that starts a client whose commit does not complete.

    All markers of the commit are lost, so the transactional id stays busy.
    """

    def start(version: TransactionVersion) -> Client:
        cluster = start_cluster(brokers=3)
        cluster.create("a")
        client = Client(cluster, version).begin()
        client.send(A, "one")
        assert cluster.leader(A) != client.coordinator()  # a broker's own messages are not lost
        cluster.is_dropped = lambda _to, message: (
            isinstance(message, RequestReceived) and isinstance(message.request, WriteTxnMarker)
        )
        assert client.end(COMMIT).error is NONE
        assert state(cluster, client.coordinator()).state is TxnState.PREPARE_COMMIT
        return client

    return start


@both
def test_while_markers_are_written_the_next_requests_must_wait(
    committing: Callable[[TransactionVersion], Client], version: TransactionVersion
) -> None:
    """Until the markers of a commit are written, the client's next requests are refused.

    The error is CONCURRENT_TRANSACTIONS. In V2, a commit raises the producer epoch, so the next
    request has an epoch that the coordinator does not have yet. The error is not PRODUCER_FENCED
    even then.

    Kafka: TransactionMetadata.pendingTransitionInProgress.
    """
    client = committing(version)
    assert client.end(ABORT).error is BUSY
    assert client.end(COMMIT).error is BUSY
    assert client.add(A) is BUSY
    client.cluster.is_dropped = lambda _to, _told: False
    client.cluster.pass_time(40_000)
    assert client.cluster.committed(A) == ["one"]
    if version is V2:  # an empty transaction may be aborted
        assert client.end(ABORT).error is NONE
    else:
        assert client.end(ABORT).error is ErrorCode.INVALID_TXN_STATE


def test_in_v2_a_busy_id_is_reported_before_a_stale_epoch(
    committing: Callable[[TransactionVersion], Client],
) -> None:
    """In V2 a request with a wrong epoch gets CONCURRENT_TRANSACTIONS if the id is busy.

    A V1 EndTxn gets PRODUCER_FENCED, because its epoch is checked first.

    Kafka: TransactionCoordinator.handleAddPartitionsToTransaction, endTransaction and
    endTransactionWithTV1.
    """
    for version, error in ((V2, BUSY), (V1, FENCED)):
        client = committing(version)
        number, epoch = client.producer
        client.producer = (number, epoch + 7)
        assert client.add(A) is BUSY
        assert client.end(ABORT).error is error
