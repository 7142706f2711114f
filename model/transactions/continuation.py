"""Transactions whose client continues after an error. The response to InitProducerId may be lost.

The client sends InitProducerId with its producer id and epoch (KIP-360). The coordinator raises the
epoch, and stores the previous producer id and epoch in its log. So if the client repeats its
request, the coordinator recognizes the request, and answers with the same epoch again.

This is the rule of KIP-360. Kafka 4.3 keeps the previous epoch in memory only (KAFKA-20357). After
a failover, its coordinator answers the repeated request with PRODUCER_FENCED.

This version adds three actions:

    coordinator  raise_epoch, repeat_response
    clients      lose_response

Source: KIP-360; TransactionCoordinator.prepareInitProducerIdTransit and
TransactionMetadata.prepareIncrementProducerEpoch of Apache Kafka 4.3.
Simplified: a client continues at most once, and only after it knows how all its transactions ended.
It then begins no transaction until it has the response to InitProducerId. A response is lost only
if the coordinator fails. Only a response to a client that continues is lost, and never one to a new
instance.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Nothing,
    Set,
    action,
    all_of,
    any_of,
    exists,
    false,
    forall,
    implies,
    nothing,
    true,
    when,
    witness,
)
from model.releases import LATEST, kafka
from model.transactions.state import (
    COMPLETE,
    EMPTY,
    CoordinatorEpoch,
    Instance,
    Metadata,
    Transaction,
)
from model.transactions.versions import Transactions
from model.variants import version


@version(
    "kip-360",
    in_force=kafka("4.2", LATEST, needs="clients that continue with InitProducerId"),
)
class Continuation(Transactions):
    """The version `v2`, but a client sends InitProducerId to continue after an error (KIP-360). The
    response to this request may be lost.
    """

    has_continued: Set[Instance]  # the coordinator has accepted its InitProducerId request
    is_continuing: Set[Instance]  # the instance waits for the response to InitProducerId
    has_last: Bool  # the latest committed record has the previous id and epoch of a continuation
    appends_last: Bool  # the latest appended record has them, committed or not

    # ---- the coordinator's log

    def is_appending(s) -> Bool:
        """Returns True if a record that the coordinator appended to its log is not committed yet.

        The appended record may be equal to the latest committed record, so a comparison of the two
        is not enough. An instance that waits for an answer also shows that an append is not
        committed.
        """
        return super().is_appending() | (s.answering != nothing)

    def write(s, metadata: Metadata, answering: Instance | Nothing) -> None:
        """Appends `metadata`, without a previous producer id and epoch. To add these two, the
        caller calls `keep_last`. The instance `answering` (if any) waits for the response.
        """
        super().write(metadata, answering)
        s.keep_last(false)

    def keep_last(s, kept: Bool) -> None:
        s.appends_last = kept
        if not s.appends_wait():
            s.has_last = kept

    @action(fair="weak")
    def commit_append(s) -> None:
        """The record that the coordinator appended to its log is committed, and the response
        arrives at the waiting client.

        Kafka: the source, the simplification and the guard are those of the action in
        `Coordinator`.
        """
        for i in Instance:
            s.is_continuing[i] = s.is_continuing[i] & (s.answering != i)
        s.has_last = s.appends_last
        super().commit_append()

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log; appends that are not committed are lost.

        Kafka: as in the class `Coordinator`, whose simplification and guards this action also has.
        """
        super().fail_over(epoch)
        s.appends_last = s.has_last

    @action
    def lose_response(s) -> None:
        """A client that continues after an error loses the response to its InitProducerId request.

        Kafka: the connection breaks.
        Simplified: the response is lost before the coordinator's record is committed.
        """
        when(exists((s.answering == i) & s.is_continuing[i] for i in Instance))
        s.answering = nothing

    # ---- InitProducerId with a producer id and epoch

    def may_continue(s, i: Instance) -> Bool:
        """Returns True if the instance has a producer id and no error, and knows how all its
        transactions ended.
        """
        return all_of(
            s.producer[i].producer_id != nothing,
            s.producer[i].error == nothing,
            forall(implies(s.owner[k] == i, s.end_confirmed[k]) for k in Transaction),
        )

    @action
    def raise_epoch(s, i: Instance) -> None:
        """A client continues after an error: it receives the next epoch, or epoch 0 of a new
        producer id.

        Kafka: TransactionMetadata.prepareIncrementProducerEpoch and prepareProducerIdRotation.
        Simplified: the client waits until no transaction is ongoing.

        Without the guard `may_continue`, the claim `no_instance_fences_itself` breaks in 6 steps.
        """
        m = s.metadata
        when(
            ~s.is_busy(),
            (m.state == EMPTY) | (m.state == COMPLETE),
            ~s.has_continued[i],
            s.may_continue(i),
            s.has_newest_epoch(i),
        )
        stamp = s.next_stamp(s.is_exhausted(m.producer_epoch))
        s.write(s.idle(EMPTY, stamp.producer_id, stamp.producer_epoch, m.producer_id), answering=i)
        s.keep_last(true)
        s.has_continued[i] = True
        if s.appends_wait():
            s.is_continuing[i] = True

    def expects_last(s, i: Instance) -> Bool:
        """Returns True if the instance has the producer id and epoch that the coordinator had
        before the latest InitProducerId. The coordinator may then answer a repeated InitProducerId
        request of the instance.
        """
        m, own = s.metadata, s.producer[i]
        return (own.producer_id == m.previous_id) & any_of(
            (m.previous_id == m.producer_id) & (own.producer_epoch + 1 == m.producer_epoch),
            (m.previous_id != m.producer_id) & s.is_exhausted(own.producer_epoch),
        )

    @action
    def repeat_response(s, i: Instance) -> None:
        """A client repeats its InitProducerId request, and the coordinator answers with the same
        epoch again.

        Kafka: TransactionMetadata.prepareIncrementProducerEpoch.
        """
        m = s.metadata
        when(
            s.is_continuing[i],
            ~s.is_busy(),
            m.state == EMPTY,
            s.has_last,
            s.expects_last(i),
        )
        s.write(s.idle(EMPTY, m.producer_id, m.producer_epoch, m.previous_id), answering=i)
        s.keep_last(true)

    # ---- clients

    @action
    def begin(s, k: Transaction, i: Instance) -> None:
        """A client begins a transaction, unless it waits for the response to InitProducerId.

        Kafka: see `Clients.begin` for the source, the simplification and the other guards.
        """
        when(~s.is_continuing[i])
        super().begin(k, i)

    @witness
    def a_repeated_request_is_answered(s) -> Bool:
        """Reachable: the response to an InitProducerId request was lost, and the coordinator
        answers the repeated request.
        """
        return exists(
            all_of(s.has_last, s.answering == i, s.expects_last(i), s.metadata.state == EMPTY)
            for i in Instance
        )
