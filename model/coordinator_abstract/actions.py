"""The actions of clients and partitions in the spec `coordinator-abstract`. The module
`coordinator.py` has the actions of the coordinator and its log.

Requests, markers and responses may arrive late or twice. So an action may be taken at any time
while its guard is true, and it may be repeated. A failed coordinator and the next coordinator may
send markers at the same time.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. No action is fair, because only safety is proved.

    clients      begin, request_commit, request_abort, receive_end
    coordinator  init_producer, expire, add_partition, prepare_commit, prepare_abort, fence,
                 complete
    its log      commit_append, fail_over
    partitions   append, write_marker

Source: KIP-890 part 2; KIP-1228; KAFKA-19999.
"""

from __future__ import annotations

from model.coordinator_abstract.coordinator import Coordinator
from model.coordinator_abstract.state import (
    CoordinatorEpoch,
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
)
from model.language import Bool, action, any_of, exists, forall, iff, implies, when


class AbstractCoordinatorActions(Coordinator):
    # ---- clients

    def may_begin(s, i: Instance) -> Bool:
        return forall(
            implies(s.begun[x] & (s.client[x] == i), s.stamp[x] != s.held[i]) for x in Transaction
        )

    @action
    def begin(s, x: Transaction, i: Instance) -> None:
        """An instance begins a transaction with its producer id and epoch. The instance sends no
        request.

        Kafka: TransactionManager.beginTransaction.
        Simplified: the instance may leave an earlier transaction open.
        Without the guard that each transaction has an epoch of its own (`may_begin`), the claim
        `the_client_decides` breaks in 9 steps.
        """
        when(~s.begun[x], s.is_ready[i], s.may_begin(i))
        s.begun[x] = True
        s.client[x] = i
        s.stamp[x] = s.held[i]

    @action
    def request_commit(s, x: Transaction) -> None:
        """A client sends EndTxn to commit its transaction. The request may arrive late or twice.

        Kafka: TransactionManager.beginCommit.
        Simplified: the client may send the request before all records of the transaction are
        acknowledged.
        Without the guard that the client has not requested to abort, the claim
        `an_acknowledged_commit_stays` breaks in 8 steps.
        """
        when(s.begun[x], ~s.abort_requested[x])
        s.commit_requested[x] = True

    @action
    def request_abort(s, x: Transaction) -> None:
        """A client sends EndTxn to abort its transaction. The request may arrive late or twice.

        Kafka: TransactionManager.beginAbort.
        Simplified: the client may send the request before all records of the transaction are
        acknowledged.
        Without the guard that the transaction has begun, the claim `a_decision_survives` breaks in
        11 steps.
        """
        when(s.begun[x], ~s.commit_requested[x])
        s.abort_requested[x] = True

    def answers_from(s, x: Transaction) -> Metadata:
        """Returns the record from which the coordinator answers EndTxn: the last committed record
        of the client's transactional id in the coordinator's log.

        If the coordinator may answer from a record that is not committed, the claim
        `an_acknowledged_commit_stays` breaks (bug `answers-early`, 8 steps).
        """
        return s.metadata_of(x)

    @action
    def receive_end(s, x: Transaction) -> None:
        """A client learns that its transaction was committed or aborted, as the client requested.
        The response has the client's next producer id and epoch.

        If the response is lost, the client repeats the request with the same producer id and epoch.

        Kafka: TransactionCoordinator.endTransaction.
        Simplified: the coordinator may answer before all partitions have their markers.
        Without the guard that the transaction was committed or aborted under this producer id and
        epoch (`is_decided_under`), the claim `an_acknowledged_commit_stays` breaks in 12 steps.
        """
        m, i = s.answers_from(x), s.client[x]
        when(
            ~s.confirmed[x],
            s.commit_requested[x] | s.abort_requested[x],
            s.held[i] == s.stamp[x],
            s.is_decided_under(m, x),
            iff(m.commits, s.commit_requested[x]),
        )
        s.confirmed[x] = True
        s.held[i].producer_id = m.producer_id
        s.held[i].producer_epoch = m.producer_epoch

    # ---- partitions

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A partition appends a record of the transaction, unless the partition has seen a larger
        epoch of the transaction's producer id.

        Kafka: ProducerAppendInfo.checkProducerEpoch.
        Simplified: a record may arrive at any time after the partition was added to the
        transaction.
        Without the guard that the partition has seen no larger epoch, the claim
        `no_hanging_transaction` breaks in 11 steps.
        """
        p = s.stamp[x].producer_id
        when(s.added[x][t], s.seen_epoch[t][p] <= s.stamp[x].producer_epoch)
        s.pending[x][t] = True
        s.seen_epoch[t][p] = s.stamp[x].producer_epoch

    def accepts_marker(s, t: TopicPartition, p: ProducerId, marker_epoch: ProducerEpoch) -> Bool:
        """Returns True if the partition accepts a marker of the producer id `p`. The marker's epoch
        must be larger than every epoch of `p` that the partition has seen.

        The partition also accepts a marker whose epoch equals the largest seen epoch of `p`, if `p`
        has no pending record. An earlier copy of this marker has then ended the transaction.
        Without this exception, the claim `markers_are_accepted` breaks (bug
        `refuses-repeated-markers`, 8 steps; KAFKA-19999). If every equal epoch is accepted, the
        claim `faithful` breaks (bug `lax-markers`, 17 steps; KAFKA-19446).
        """
        seen = s.seen_epoch[t][p]
        has_pending = exists(s.pending[y][t] & (s.stamp[y].producer_id == p) for y in Transaction)
        return any_of(seen < marker_epoch, (seen == marker_epoch) & ~has_pending)

    def accepts_coordinator(s, t: TopicPartition, p: ProducerId, epoch: CoordinatorEpoch) -> Bool:
        return s.seen_coordinator[t][p] <= epoch

    def id_in_marker(s, x: Transaction) -> ProducerId:
        return s.stamp[x].producer_id

    @action
    def write_marker(s, x: Transaction, t: TopicPartition, epoch: CoordinatorEpoch) -> None:
        """A partition writes a coordinator's marker. The marker commits or aborts all pending
        records of its producer id.

        Kafka: WriteTxnMarkers, ProducerAppendInfo.appendEndTxnMarker.
        Simplified: the present coordinator or any earlier coordinator may have sent the marker.
        Without the guard that the transaction is committed or aborted, the claim
        `no_hanging_transaction` breaks in 11 steps.
        Every claim also holds without the guard `accepts_coordinator` (the partition has seen no
        marker of a later coordinator).
        """
        p = s.id_in_marker(x)
        when(
            s.decided(x),
            s.added[x][t],
            epoch <= s.coordinator_epoch,
            s.accepts_coordinator(t, p, epoch),
            s.accepts_marker(t, p, s.marker_epoch[x]),
        )
        s.seen_epoch[t][p] = s.marker_epoch[x]
        s.seen_coordinator[t][p] = epoch
        s.marked[x][t] = True
        for y in Transaction:
            closes = s.pending[y][t] & (s.stamp[y].producer_id == p)
            s.kept[y][t] = s.kept[y][t] | closes & s.committed[x]
            s.dropped[y][t] = s.dropped[y][t] | closes & s.aborted[x]
            s.pending[y][t] = s.pending[y][t] & ~closes
