"""The version `kip-360` of the spec `coordinator-abstract`: producers may continue after an error
(KIP-360), and responses may be lost.

A client that continues sends InitProducerId with its producer id and epoch. The coordinator raises
the epoch, and stores the previous producer id and epoch in its log. The coordinator recognizes a
repeated request by the previous producer id and epoch, and sends the same response again. Kafka 4.3
keeps the previous epoch in memory only (KAFKA-20357): after a failover, it fences the client.

A new instance sends no producer id and epoch. The coordinator then stores no previous producer id
and epoch in its log, so a replaced instance cannot repeat its request.

This version of the spec has the actions of the version `kip-1228`, and the actions in this table.
No action is fair.

    coordinator  raise_epoch, repeat_response, lose_response

Source: KIP-360; TransactionCoordinator.prepareInitProducerIdTransit and
TransactionMetadata.prepareIncrementProducerEpoch of Apache Kafka 4.3.
Simplified: the coordinator compares the producer id and epoch as a pair; Kafka compares the two
values separately. If the response contains a new producer id, Kafka repeats it only once; the spec
has no such limit.
"""

from __future__ import annotations

from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    Transaction,
    TransactionalId,
)
from model.coordinator_abstract.versions import AbstractCoordinator
from model.language import (
    Bool,
    Map,
    Nothing,
    Set,
    action,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    ite,
    lemma,
    nothing,
    true,
    when,
    witness,
)
from model.releases import LATEST, kafka
from model.variants import version


class ContinuationActions(AbstractCoordinator):
    newest: Map[TransactionalId, Instance | Nothing]  # the last one that began without an epoch
    has_last: Set[TransactionalId]  # without a decision, the log has a previous id and epoch
    appends_last: Set[TransactionalId]  # so does the last record, committed or not

    def is_empty(s, m: Metadata) -> Bool:
        return all_of(m.is_known, ~m.is_ongoing, ~s.has_decision(m))

    def keeps_last(s, i: TransactionalId) -> Bool:
        """Returns True if the coordinator's log stores a previous producer id and epoch of `i`.
        This is the case in two situations. The last committed record of `i` is a commit or abort.
        Or the coordinator wrote this record for an instance that continues after an error
        (KIP-360).

        If the coordinator's record for a new instance also stores a previous producer id and epoch,
        the claim `one_instance_has_an_epoch` breaks (bug `new-instance-keeps-last`, 6 steps).
        """
        return s.has_decision(s.log[i]) | s.has_last[i]

    # ---- the log

    def write(s, i: TransactionalId, m: Metadata, answering: Instance | Nothing) -> None:
        """Appends a record to the coordinator's log. The record stores no previous producer id and
        epoch.
        """
        super().write(i, m, answering)
        s.appends_last[i] = False

    def keep_last(s, i: TransactionalId, last_id: ProducerId, last_epoch: ProducerEpoch) -> None:
        s.appends_last[i] = True
        s.appended[i].last_id = last_id
        s.appended[i].last_epoch = last_epoch

    @action
    def commit_append(s, i: TransactionalId) -> None:
        """The record that the coordinator appended is committed.

        The coordinator may have appended the record for an InitProducerId request without a
        producer id and epoch. Then the instance that sent this request becomes the newest instance
        of its transactional id.

        Kafka: as in the version `kip-1228`, with the same simplifications. Every claim also holds
        without the guard of this action.
        """
        begins = s.is_empty(s.appended[i]) & ~s.appends_last[i]
        s.newest[i] = ite(begins, s.answering[i], s.newest[i])
        s.has_last[i] = s.appends_last[i]
        super().commit_append(i)

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads the log. Appends that are not committed are lost.

        Kafka: as in the version `kip-1228`, whose simplifications and guards this action also has.
        """
        for i in TransactionalId:
            s.appends_last[i] = s.has_last[i]
        super().fail_over(epoch)

    @action
    def lose_response(s, i: TransactionalId) -> None:
        """The response to an InitProducerId request is lost.

        Kafka: the connection breaks.
        Simplified: the response is lost before the record of the request is committed.
        Every claim also holds without the guard that an instance waits for the response.
        """
        when(s.answering[i] != nothing)
        s.answering[i] = nothing

    # ---- InitProducerId with a producer id and epoch

    def expects_present(s, c: Instance, m: Metadata) -> Bool:
        """Returns True if the instance `c` has the producer id and epoch of the record `m`.

        Without the comparison of epochs, the claim `only_the_newest_instance_has_the_epoch` breaks
        (bug `raises-for-zombies`, 6 steps).
        """
        held = s.held[c]
        return all_of(
            m.producer_id == held.producer_id,
            m.producer_epoch == held.producer_epoch,
        )

    def expects_last(s, c: Instance, m: Metadata) -> Bool:
        """Returns True if the instance `c` has the previous producer id and epoch of the record `m`
        (`last_id` and `last_epoch`).

        Without the comparison of epochs, the claim `one_instance_has_an_epoch` breaks (bug
        `repeats-for-zombies`, 8 steps).
        """
        held = s.held[c]
        return all_of(m.last_id == held.producer_id, m.last_epoch == held.producer_epoch)

    @action
    def raise_epoch(
        s, i: TransactionalId, c: Instance, producer_id: ProducerId, producer_epoch: ProducerEpoch
    ) -> None:
        """An instance continues after an error: it requests a larger epoch, or another producer id.

        Kafka: TransactionMetadata.prepareIncrementProducerEpoch and prepareProducerIdRotation.
        Simplified: the action has the simplifications and the guards of the action `init_producer`.
        Without the guard that the instance has received a producer id, the claim
        `only_the_newest_instance_has_the_epoch` breaks in 4 steps.
        """
        m = s.log[i]
        when(m.is_known, s.is_ready[c], s.expects_present(c, m))
        s.init_producer(i, c, producer_id, producer_epoch)
        s.keep_last(i, m.producer_id, m.producer_epoch)

    @action
    def repeat_response(s, i: TransactionalId, c: Instance) -> None:
        """An instance sends its InitProducerId request again. The coordinator answers with the
        epoch that the log already has.

        Kafka: TransactionMetadata.prepareIncrementProducerEpoch.
        Without the guard that the instance has received a producer id, the claim
        `one_instance_has_an_epoch` breaks in 6 steps.
        """
        m = s.log[i]
        when(
            ~m.is_prepared,
            s.is_ready[c],
            s.keeps_last(i),
            s.expects_last(c, m),
        )
        s.write(i, s.empty(i, m.producer_id, m.producer_epoch, true), answering=c)
        s.keep_last(i, m.last_id, m.last_epoch)


class ContinuationLemmas(ContinuationActions):
    @lemma
    def an_empty_record_follows(s) -> Bool:
        """If the coordinator appends a record without a transaction, the last committed record has
        no open transaction.

        One of three cases holds for the appended record:

        - The record is a tombstone.
        - The record has a producer id and epoch that are not in use yet (`has_unused_stamp`).
        - The record repeats the producer id and epoch of the last committed record (`repeats`).
        """
        return forall(
            implies(
                all_of(
                    s.is_appending[i], ~s.appended[i].is_ongoing, ~s.has_decision(s.appended[i])
                ),
                all_of(
                    ~s.log[i].is_ongoing,
                    ~s.log[i].is_prepared,
                    implies(
                        s.appended[i].is_known,
                        s.has_unused_stamp(s.log[i], s.appended[i]) | s.repeats(i),
                    ),
                ),
            )
            for i in TransactionalId
        )

    def repeats(s, i: TransactionalId) -> Bool:
        """Returns True if the record that the coordinator appends for `i` repeats the producer id
        and epoch of the last committed record of `i`, and also its `last_id` and `last_epoch`.
        """
        m, n = s.log[i], s.appended[i]
        return all_of(
            s.appends_last[i],
            s.keeps_last(i),
            s.keeps_stamp(m, n),
            n.last_id == m.last_id,
            n.last_epoch == m.last_epoch,
        )

    def continues(s, i: TransactionalId) -> Bool:
        """Returns True if the appended record of `i` has an unused producer id or epoch, and its
        fields `last_id` and `last_epoch` are the producer id and epoch of the last committed
        record.
        """
        m, n = s.log[i], s.appended[i]
        return all_of(
            s.has_unused_stamp(m, n),
            n.last_id == m.producer_id,
            n.last_epoch == m.producer_epoch,
        )

    @lemma
    def a_continuation_follows(s) -> Bool:
        """If an appended record stores a previous producer id and epoch, the record's present
        producer id and epoch are new (`continues`) or are the same as in the log (`repeats`).

        Also, the appended record has no transaction, and the coordinator will respond only to the
        newest instance: the latest one that sent InitProducerId without a producer id and epoch.
        """
        return forall(
            implies(
                s.is_appending[i] & s.appends_last[i],
                all_of(
                    s.is_empty(s.appended[i]),
                    s.log[i].is_known,
                    s.continues(i) | s.repeats(i),
                    forall(implies(s.answering[i] == c, s.newest[i] == c) for c in Instance),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def the_newest_instance_has_the_last_epoch(s) -> Bool:
        """If the log's last record stores a previous producer id and epoch, and is no commit or
        abort, only the newest instance may have this previous producer id and epoch.

        Such a record has no transaction, and its previous producer id is assigned to the
        transactional id. The newest instance is the latest instance that sent InitProducerId
        without a producer id and epoch.
        """
        return forall(
            implies(
                s.has_last[i],
                all_of(
                    s.is_empty(s.log[i]),
                    s.assigned[s.log[i].last_id] == i,
                    forall(
                        implies(s.holds(c, s.log[i].last_id, s.log[i].last_epoch), s.newest[i] == c)
                        for c in Instance
                    ),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def transactions_are_of_the_newest_instance(s) -> Bool:
        """The client of a transaction is the newest instance in two cases: the coordinator's log
        has the transaction's producer id and epoch, or the log has the transaction's commit or
        abort.

        The newest instance is the latest instance that sent InitProducerId without a producer id
        and epoch.
        """
        return forall(
            all_of(
                forall(
                    implies(
                        s.log[i].is_known
                        & s.has_stamp(x, s.log[i].producer_id, s.log[i].producer_epoch),
                        s.newest[i] == s.client[x],
                    )
                    for x in Transaction
                ),
                implies(s.has_decision(s.log[i]), s.newest[i] == s.client[s.log[i].transaction]),
            )
            for i in TransactionalId
        )


@version(
    "kip-360",
    in_force=kafka("4.2", LATEST, needs="clients that continue with InitProducerId"),
)
class Continuation(ContinuationLemmas):
    """The spec's version `kip-1228` with two changes: clients may continue after an error
    (KIP-360), and responses to InitProducerId may be lost.

    A client that continues sends InitProducerId with its producer id and epoch, and receives a
    larger epoch or another producer id.
    """

    @invariant
    def only_the_newest_instance_has_the_epoch(s) -> Bool:
        """If the coordinator's log has a producer id and epoch, only the newest instance of the
        transactional id may have the same producer id and epoch.

        The newest instance is the latest instance that sent InitProducerId without a producer id
        and epoch. So a replaced instance never receives the present epoch, even if it sends
        InitProducerId with its own producer id and epoch, once or several times.
        """
        return forall(
            implies(
                s.log[i].is_known & s.holds(c, s.log[i].producer_id, s.log[i].producer_epoch),
                s.newest[i] == c,
            )
            for i in TransactionalId
            for c in Instance
        )

    @witness
    def a_repeated_request_is_answered(s) -> Bool:
        """Reachable: a response was lost, and the coordinator answers the repeated request with the
        same producer epoch.
        """
        return exists(
            all_of(
                s.has_last[i],
                s.is_appending[i],
                s.appends_last[i],
                s.answering[i] == c,
                s.expects_last(c, s.log[i]),
                s.keeps_stamp(s.log[i], s.appended[i]),
            )
            for i in TransactionalId
            for c in Instance
        )
