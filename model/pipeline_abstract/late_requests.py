"""The version `with-late-requests` of the spec `pipeline-abstract`, and its witnesses."""

from __future__ import annotations

from model.language import Bool, all_of, exists, witness
from model.pipeline_abstract.late_proof import LateRequestsProof
from model.pipeline_abstract.late_state import ProducerEpoch
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId
from model.releases import LATEST, kafka
from model.variants import version


@version(
    "with-late-requests",
    in_force=kafka("4.2", LATEST, needs="transaction.version=2"),
)
class WithLateRequests(LateRequestsProof):
    """Pipelines as in KIP-447 with transaction version 2 (KIP-890): requests and markers may arrive
    late or more than once, and each commit or abort raises the producer epoch.
    """

    @witness
    def a_late_record_is_refused(s) -> Bool:
        """Reachable: a record has not arrived, and the output has seen a larger epoch."""
        return exists(
            all_of(s.sent[x][e][p][o], ~s.appended[x][e][p][o], e < s.output_epoch[x])
            for x in TransactionalId
            for e in ProducerEpoch
            for p in TopicPartition
            for o in Offset
        )

    @witness
    def a_late_offset_is_refused(s) -> Bool:
        """Reachable: an offset has not arrived, and the group coordinator has seen a larger
        epoch.
        """
        return exists(
            all_of(s.offset_sent[x][e][p], ~s.accepted[x][e][p], e < s.offsets_epoch[x])
            for x in TransactionalId
            for e in ProducerEpoch
            for p in TopicPartition
        )

    @witness
    def a_late_commit_is_refused(s) -> Bool:
        """Reachable: a client has requested to commit a transaction that the coordinator had
        aborted.
        """
        return exists(
            s.commit_requested[x][e] & s.aborted_at[x][e]
            for x in TransactionalId
            for e in ProducerEpoch
        )

    @witness
    def the_next_transaction_writes(s) -> Bool:
        """Reachable: a reader has received an output record of an instance, and a record of the
        instance's next transaction awaits its marker.
        """
        return exists(
            all_of(
                s.committed_at[x][e],
                s.marker_epoch[x][e] == s.held_epoch[i],
                s.uses[i] == x,
                s.written[x][p][o],
                s.ongoing[x],
            )
            for i in Instance
            for x in TransactionalId
            for e in ProducerEpoch
            for p in TopicPartition
            for o in Offset
        )
