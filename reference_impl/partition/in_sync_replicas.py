"""The leader's view of its followers, and of the in-sync replicas (ISR).

A leader proposes each change of the ISR to the controller. Until it gets the response, it uses the
*maximal* ISR: the union of the current ISR and the proposed ISR. Thus the high watermark never
passes the log end of a replica that may be in the controller's ISR.

Source: KIP-497 (AlterPartition), KIP-903 (broker epochs), KIP-966 (the high watermark does not
advance below min.insync.replicas), KAFKA-7128, KAFKA-13091; docs/kafka-rules.md A4 to A7.
Simplified: a broker that shuts down cleanly is fenced at once, so no replica is in a controlled
shutdown. If a leader is elected again, it forgets the end offsets of its followers, whereas Kafka's
leader remembers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.vocabulary import BrokerEpoch, BrokerId, Offset, TopicPartition
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.protocol.controller import AlteredPartition, AlterPartition, PartitionState
from reference_impl.protocol.messages import UNKNOWN_BROKER_EPOCH, UNKNOWN_OFFSET, ErrorCode
from reference_impl.protocol.replacing import replace

NEVER_MS: Final = -(10**15)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteReplica:
    """A follower's progress in this leader epoch. The leader records the progress from the
    follower's fetches.
    """

    end_offset: Offset = UNKNOWN_OFFSET  # the offset of its last fetch
    broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # of its last fetch
    caught_up_ms: int = NEVER_MS  # when it last had the whole log
    fetched_ms: int = NEVER_MS
    leader_end_then: Offset = UNKNOWN_OFFSET  # the leader's end offset at that fetch
    sent_high_watermark: Offset = UNKNOWN_OFFSET
    log_start: Offset = UNKNOWN_OFFSET

    def after_fetch(
        self,
        offset: Offset,
        broker_epoch: BrokerEpoch,
        leader_end: Offset,
        now_ms: int,
        *,
        log_start: Offset = UNKNOWN_OFFSET,
    ) -> RemoteReplica:
        """Returns the follower's progress after a fetch from the offset `offset`, which is the end
        of the follower's log.
        """
        if offset >= leader_end:
            caught_up_ms = now_ms
        elif offset >= self.leader_end_then >= 0:
            caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        else:
            caught_up_ms = self.caught_up_ms
        return replace(
            self,
            end_offset=offset,
            broker_epoch=broker_epoch,
            caught_up_ms=caught_up_ms,
            fetched_ms=now_ms,
            leader_end_then=leader_end,
            log_start=log_start,
        )

    def is_caught_up(self, leader_end: Offset, now_ms: int, lag_ms: int) -> bool:
        """Returns True if the follower has the whole log, or had the whole log at some time in the
        last `lag_ms`.
        """
        return self.end_offset == leader_end or now_ms - self.caught_up_ms <= lag_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class InSyncReplicas:
    state: PartitionState
    remotes: Mapping[BrokerId, RemoteReplica]
    proposal: AlterPartition | None = None  # sent to the controller, without a response yet
    proposal_correlation: int | None = None  # of the last request with this proposal
    ignores_minimum: bool = False  # a seeded bug

    @classmethod
    def of_new_leader(cls, state: PartitionState, context: Context) -> InSyncReplicas:
        """Returns a new leader's view of its followers. The members of the ISR count as caught up.
        The end offset of each follower is unknown until the follower fetches.
        """
        return cls(
            state=state,
            ignores_minimum=Bug.MINIMUM_IGNORED in context.bugs,
            remotes={
                broker: RemoteReplica(
                    caught_up_ms=context.now_ms if broker in state.isr else NEVER_MS
                )
                for broker in state.replicas
                if broker != context.broker_id
            },
        )

    @property
    def proposed(self) -> tuple[BrokerId, ...]:
        """The ISR of the pending proposal, or () if no proposal is pending. The controller may have
        accepted the proposal already.
        """
        return () if self.proposal is None else tuple(broker for broker, _ in self.proposal.isr)

    @property
    def maximal(self) -> tuple[BrokerId, ...]:
        either = (*self.state.isr, *self.proposed)
        return tuple([broker for broker in self.state.replicas if broker in either])

    @property
    def min_insync_replicas(self) -> int:
        """The value of min.insync.replicas, but at most the number of replicas."""
        configured = 1 if self.ignores_minimum else self.state.min_insync_replicas
        return min(configured, len(self.state.replicas))

    @property
    def below_minimum(self) -> bool:
        """True if the ISR is too small for a Produce request with acks=all."""
        return len(self.state.isr) < self.min_insync_replicas

    def replicated_up_to(self, leader_end: Offset, context: Context) -> Offset:
        """Returns the lowest log end among the leader, the members of the maximal ISR, and all
        other live replicas that have caught up. Returns -1 if one of these log ends is unknown, or
        if the ISR is smaller than min.insync.replicas.

        Replicas outside the ISR that have caught up count, too. Otherwise the high watermark would
        advance beyond their log ends, and they could not join the ISR.
        """
        if self.below_minimum:
            return UNKNOWN_OFFSET
        maximal = self.maximal
        lag_ms = context.broker_settings.replica_lag_ms
        lowest = leader_end
        for broker, remote in self.remotes.items():
            if remote.end_offset < lowest and (
                broker in maximal
                or (
                    remote.is_caught_up(leader_end, context.now_ms, lag_ms)
                    and context.may_be_in_sync(broker)
                )
            ):
                lowest = remote.end_offset
        return lowest

    def low_watermark(self, log_start: Offset, context: Context) -> Offset:
        """Returns the lowest log start among the leader and the registered, unfenced followers.
        `log_start` is the leader's log start. Returns -1 if the log start of such a follower is
        unknown.
        """
        followers = self.remotes.items()
        alive = [remote.log_start for broker, remote in followers if context.may_be_in_sync(broker)]
        return min([log_start, *alive])

    def lagging(self, leader_end: Offset, context: Context) -> tuple[BrokerId, ...]:
        """Returns the ISR members that were not caught up at any time in the last
        replica.lag.time.max.ms.
        """
        lag_ms = context.broker_settings.replica_lag_ms
        return tuple(
            broker
            for broker in self.state.isr
            if broker != context.broker_id
            and not self.remotes[broker].is_caught_up(leader_end, context.now_ms, lag_ms)
        )

    def may_join(
        self, broker: BrokerId, high_watermark: Offset, epoch_start: Offset, context: Context
    ) -> bool:
        """Returns True if the leader may propose that the follower joins the ISR. The follower must
        have reached the high watermark and the start of this leader epoch.

        The high watermark alone is not sufficient, because the high watermark of a new leader may
        be below committed records (KAFKA-7128). As in Kafka, the log start is not checked.
        """
        # The version `kafka-4.3` of model/retention shows what may go wrong without a check of the
        # log start.
        remote = self.remotes[broker]
        known = context.brokers.get(broker)
        return (
            self.proposal is None
            and broker not in self.state.isr
            and remote.end_offset >= max(high_watermark, epoch_start)
            and known is not None
            and not known.fenced
            and remote.broker_epoch in {UNKNOWN_BROKER_EPOCH, known.broker_epoch}
        )

    def proposal_for(
        self, topic_partition: TopicPartition, isr: tuple[BrokerId, ...], context: Context
    ) -> AlterPartition:
        return AlterPartition(
            topic_partition=topic_partition,
            broker_id=context.broker_id,
            broker_epoch=context.broker_epoch,
            leader_epoch=self.state.leader_epoch,
            partition_epoch=self.state.partition_epoch,
            isr=tuple(
                (
                    broker,
                    context.broker_epoch
                    if broker == context.broker_id
                    # From its last fetch: newer metadata may be of a restart whose end offset the
                    # leader has not seen (KAFKA-15221).
                    else self.remotes[broker].broker_epoch,
                )
                for broker in self.state.replicas
                if broker in isr
            ),
        )

    def with_proposal(self, proposal: AlterPartition, correlation: int) -> InSyncReplicas:
        return replace(self, proposal=proposal, proposal_correlation=correlation)

    def with_newer_state(self, state: PartitionState) -> InSyncReplicas:
        """Returns a copy of this object whose registration is `state`, and which has no pending
        proposal. If the partition epoch of `state` is not newer, returns this object.
        """
        if state.partition_epoch <= self.state.partition_epoch:
            return self
        remotes = self.remotes
        if state.replicas != self.state.replicas:
            me = self.state.leader
            others = (broker for broker in state.replicas if broker != me)
            remotes = {broker: self.remotes.get(broker, RemoteReplica()) for broker in others}
        return replace(self, state=state, remotes=remotes, proposal=None, proposal_correlation=None)

    def with_metadata(self, state: PartitionState) -> InSyncReplicas:
        """Returns a copy of this object whose registration is `state`. If `state` has a newer
        partition epoch, the copy has no pending proposal.
        """
        # With the same partition epoch, only the configuration has changed.
        if state.partition_epoch == self.state.partition_epoch:
            return replace(self, state=state)
        return self.with_newer_state(state)

    def with_response(self, correlation: int, answer: AlteredPartition) -> InSyncReplicas:
        """Returns this object as it is after the controller's response to a proposal. If the
        registration in the response is newer than the known one, the pending proposal ends.

        The error INELIGIBLE_REPLICA also ends the proposal, if it is the response to the latest
        request.
        """
        if answer.error is ErrorCode.INELIGIBLE_REPLICA:
            if correlation != self.proposal_correlation:
                return self
            # The controller handles requests in order, so it has not applied an earlier one either.
            return replace(self, proposal=None, proposal_correlation=None)
        state = answer.state
        if state is None or state.leader_epoch != self.state.leader_epoch:
            return self
        return self.with_newer_state(state)

    def with_remote(self, broker: BrokerId, remote: RemoteReplica) -> InSyncReplicas:
        return replace(self, remotes={**self.remotes, broker: remote})
