"""Bugs of the metadata log: the controller publishes a change that a failover may drop. It
publishes the change in a response, or in the metadata that brokers learn.

No release had these bugs. They show why a response of Kafka's controller waits until all earlier
changes are committed.

Source: QuorumController (ControllerWriteEvent, renounce) and Partition of Kafka 4.3.
"""

from __future__ import annotations

from model.election.failover import ControllerFailover
from model.election.state import PartitionState, Replica
from model.election.versions import Election
from model.language import Bool, Set, action, false, true, when
from model.releases import UNRELEASED
from model.variants import bug


@bug(
    "publishes-uncommitted",
    breaks="leader_completeness",
    steps=5,
    at={"max_unclean": 0, "min_isr": 1},
    fixed_by="controller-failover",
    in_force=UNRELEASED,
)
class PublishesUncommitted(ControllerFailover):
    """Brokers learn a change of the metadata before the change is committed.

    A new leader commits a record, although its election is not committed. A failover drops the
    election, and the old leader, which lacks the record, leads again. This bug also breaks the
    claim `leaders_know_what_is_committed`.
    """

    def published_partition(s) -> PartitionState:
        return s.partition_registration


@bug(
    "starts-uncommitted",
    breaks="leader_completeness",
    steps=8,
    fixed_by="controller-failover",
    in_force=UNRELEASED,
)
class StartsUncommitted(ControllerFailover):
    """A broker starts before its registration is committed.

    The broker led when it stopped uncleanly and lost its log. A failover drops the election of
    another leader and the new registration of the broker. So the broker leads again, with an empty
    log. In Kafka, the controller would also refuse the broker's heartbeats, because they have an
    unknown broker epoch.
    """

    def start(s, r: Replica) -> None:
        Election.start(s, r)

    def starts_with_commit(s, r: Replica) -> Bool:
        return false


@bug(
    "answers-uncommitted",
    breaks="requests_are_answered",
    steps=8,
    at={"max_unclean": 0},
    fixed_by="controller-failover",
    in_force=UNRELEASED,
)
class AnswersUncommitted(ControllerFailover):
    """The controller refuses a request because of a change that is not committed.

    The controller has accepted a leader's AlterPartition request, and refuses the repeated request,
    because its partition epoch is old (INVALID_UPDATE_VERSION). The leader waits until it learns
    the change. A failover drops the change, so the leader waits for ever.
    """

    waiting: Set[Replica]  # leaders that wait for a change, and send no request

    @action
    def refuse_partition_epoch(s, leader: Replica) -> None:
        """The controller refuses an AlterPartition request, because the partition epoch of the
        request is old. A change that is appended but not committed has raised the partition epoch.

        Kafka: after the error INVALID_UPDATE_VERSION, the request remains pending
        (Partition.handleAlterPartitionError).
        Simplified: the action refuses a request only if its partition epoch is the newest committed
        one.
        """
        when(
            s.presumes_leadership(leader),
            s.broker[leader].is_pending,
            s.broker[leader].is_current,
            ~s.is_partition_committed(),
            ~s.waiting[leader],
        )
        s.waiting[leader] = true

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller accepts a leader's AlterPartition request, unless the leader waits for a
        change of the partition. A leader that waits sends no request.

        Kafka: the version `controller-failover` cites the source of this action.
        """
        when(~s.waiting[leader])
        super().grant_isr(leader)

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses a leader's AlterPartition request, unless the leader waits for a
        change of the partition. A leader that waits sends no request.

        Kafka: the version `controller-failover` cites the source of this action.
        """
        when(~s.waiting[leader])
        super().refuse_isr(leader)

    def clear_request(s, r: Replica) -> None:
        super().clear_request(r)
        s.waiting[r] = false
