"""The clients of the version `with-late-requests`: the actions by which instances send requests and
receive responses.

A client waits for the responses to all its records and offsets before it requests a commit. While
it waits for the response to EndTxn, it sends nothing else.

Source: KIP-447; KIP-890 part 2; TransactionManager of Apache Kafka 4.3.
"""

from __future__ import annotations

from model.language import Bool, action, all_of, any_of, false, forall, implies, ite, when
from model.pipeline_abstract.late_state import LateRequestsState, ProducerEpoch
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId


class LateClients(LateRequestsState):
    # ---- InitProducerId

    def may_raise(s, x: TransactionalId, newer: ProducerEpoch) -> Bool:
        return s.newest_epoch[x] < newer

    @action
    def init_transactions(s, i: Instance, x: TransactionalId, newer: ProducerEpoch) -> None:
        """An instance initializes a transactional id, and receives a larger epoch. This fences all
        instances with a smaller epoch.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: any instance may use any transactional id. The response arrives at once or never
        (`lose_init_response`).

        Without the guard that no transaction is open, the lemma `one_transaction` breaks in 6
        steps.
        """
        when(~s.has_transaction(x), s.may_raise(x, newer))
        s.newest_epoch[x] = newer
        s.stop_reading(i)
        s.uses[i] = x
        s.held_epoch[i] = newer

    def check_aborts(s) -> None:
        if not s.aborts:
            when(false)

    @action
    def lose_init_response(s, x: TransactionalId, newer: ProducerEpoch) -> None:
        """The coordinator raises the epoch for the request of an instance, but the instance
        receives no response. The instance may send the request again.

        Kafka: TransactionCoordinator.handleInitProducerId.

        Without the guard that no transaction is open, the lemma `one_transaction` breaks in 6
        steps.
        """
        s.check_aborts()
        when(~s.has_transaction(x), s.may_raise(x, newer))
        s.newest_epoch[x] = newer

    # ---- a client consumes, processes and produces

    def may_learn(s, i: Instance) -> Bool:
        """Returns True if the instance `i` may learn the present generation, because it has sent
        nothing with its epoch.
        """
        return forall(
            implies(s.uses[i] == x, ~s.has_sent(x, s.held_epoch[i])) for x in TransactionalId
        )

    @action
    def process(s, i: Instance, x: TransactionalId, p: TopicPartition, after: Offset) -> None:
        """An instance reads the next input of a partition, and sends the input's output record.

        Kafka: KafkaConsumer.poll and KafkaProducer.send.
        Simplified: each input has one output record, and each request has one record.
        Without the guard that the instance has not sent its position in the partition with this
        epoch, the claim `position_is_exact` breaks in 10 steps.
        """
        at, e = s.position[i][p], s.held_epoch[i]
        when(
            s.reads[i][p],
            after.is_next_after(at),
            s.uses[i] == x,
            ~s.offset_sent[x][e][p],
            ~s.has_requested_end(x, e),
        )
        s.resent[x][e][p][at] = s.resent[x][e][p][at] | s.sent[x][e][p][at]
        s.sent[x][e][p][at] = True
        s.position[i][p] = after

    @action
    def send_offset(s, i: Instance, x: TransactionalId, p: TopicPartition) -> None:
        """An instance sends its position in a partition and its generation (TxnOffsetCommit).

        Kafka: KafkaProducer.sendOffsetsToTransaction.
        Simplified: each request has one partition.

        Without the guard that the instance reads the partition, the lemma `sent_is_below_position`
        breaks in 2 steps.
        """
        e = s.held_epoch[i]
        when(s.reads[i][p], s.uses[i] == x, ~s.has_requested_end(x, e))
        s.offset_sent[x][e][p] = True
        s.sent_offset[x][e][p] = s.position[i][p]
        s.sent_generation[x][e][p] = s.known_generation[i]

    def is_acknowledged(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if all records and offsets that were sent with the epoch `e` have arrived,
        so that their client has the responses.

        If a client commits before that, the claim `position_is_exact` breaks (bug
        `commits-unacknowledged`, 9 steps).
        """
        return forall(
            all_of(
                implies(s.sent[x][e][p][o], s.appended[x][e][p][o]),
                implies(s.offset_sent[x][e][p], s.accepted[x][e][p]),
            )
            for p in TopicPartition
            for o in Offset
        )

    @action
    def request_commit(s, i: Instance, x: TransactionalId) -> None:
        """An instance sends EndTxn to commit its transaction, after all its requests are
        acknowledged. It sends nothing else until the response arrives.

        The transaction must have an offset for each partition whose inputs it has processed.

        Kafka: KafkaProducer.commitTransaction.

        Without the guard that the transaction has these offsets, the claim `position_is_exact`
        breaks in 8 steps.
        """
        e = s.held_epoch[i]
        when(
            s.uses[i] == x,
            s.has_sent(x, e),
            ~s.abort_requested[x][e],
            s.is_acknowledged(x, e),
            forall(
                implies(s.sent[x][e][p][o], s.offset_sent[x][e][p])
                for p in TopicPartition
                for o in Offset
            ),
        )
        s.commit_requested[x][e] = True

    @action
    def request_abort(s, i: Instance, x: TransactionalId) -> None:
        """An instance sends EndTxn to abort its transaction. Its other requests may still be in the
        network. The instance sends nothing else until the response arrives.

        Kafka: KafkaProducer.abortTransaction.
        Without the guard that the instance has not requested the commit, the claim
        `position_is_exact` breaks in 20 steps.
        """
        e = s.held_epoch[i]
        s.check_aborts()
        when(s.uses[i] == x, s.has_sent(x, e), ~s.commit_requested[x][e])
        s.abort_requested[x][e] = True

    def answers_commit(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        """Returns True if the coordinator may answer that the transaction with the epoch `e` is
        committed.

        In the version `with-failover`, an answer before the decision is in the log breaks the claim
        `position_is_exact` (bug `answers-early`, 24 steps).
        """
        return s.committed_at[x][e]

    def next_epoch(s, x: TransactionalId, e: ProducerEpoch) -> ProducerEpoch:
        return s.marker_epoch[x][e]

    @action
    def receive_end(s, i: Instance, x: TransactionalId) -> None:
        """An instance learns that its transaction was committed or aborted as it requested, and
        receives its next epoch. After an abort, it must fetch its positions again.

        If the response is lost, the instance sends the request again with the same epoch.

        Kafka: TransactionCoordinator.endTransaction.
        Simplified: the response may arrive before the markers are written.

        Without the guard that the transaction was committed or aborted, the lemma
        `one_instance_has_an_epoch` breaks in 4 steps.
        """
        e = s.held_epoch[i]
        when(
            s.uses[i] == x,
            any_of(
                s.commit_requested[x][e] & s.answers_commit(x, e),
                s.abort_requested[x][e] & s.aborted_at[x][e],
            ),
        )
        commits = s.commit_requested[x][e]
        s.held_epoch[i] = s.next_epoch(x, e)
        for p in TopicPartition:
            s.reads[i][p] = s.reads[i][p] & commits
            s.position[i][p] = ite(commits, s.position[i][p], Offset.least())
