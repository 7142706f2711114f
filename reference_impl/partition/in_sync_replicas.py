"""What a leader knows of its followers, and who counts as in sync.

The in-sync set (ISR) is the controller's: a leader proposes a change and goes on under the
*maximal* ISR, the old set and the proposed one together, until it knows which of the two holds. So
the high watermark never passes a replica that the controller may be counting on.

Source: KIP-497 (AlterPartition), KIP-903 (broker epochs), KIP-966 (the high watermark stands still
below min.insync.replicas), KAFKA-7128, KAFKA-13091; protocol rules A4 to A7.
Simplified: no reassignment and no controlled shutdown; a leader that is chosen again forgets its
followers, where Kafka keeps what they had fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from model.vocabulary import BrokerEpoch, BrokerId, Offset, TopicPartition
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.protocol.controller import AlteredPartition, AlterPartition, PartitionState
from reference_impl.protocol.messages import UNKNOWN_BROKER_EPOCH, UNKNOWN_OFFSET, ErrorCode

NEVER_MS: Final = -(10**15)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteReplica:
    """A follower as its leader knows it, in this leader epoch."""

    end_offset: Offset = UNKNOWN_OFFSET  # it has everything below: the offset it fetched from
    broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH  # of the life that fetched
    caught_up_ms: int = NEVER_MS  # when it was last known to have the whole log
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
        """The follower after a fetch from this offset."""
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
        """It has the whole log, or had it not longer ago than the lag allows."""
        return self.end_offset == leader_end or now_ms - self.caught_up_ms <= lag_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class InSyncReplicas:
    """The controller's state, a proposal on its way, and the followers."""

    state: PartitionState
    remotes: Mapping[BrokerId, RemoteReplica]
    proposal: AlterPartition | None = None  # what the controller was asked, and has not decided
    proposal_correlation: int | None = None  # of the last request that carried it
    ignores_minimum: bool = False  # a seeded bug

    @classmethod
    def of_new_leader(cls, state: PartitionState, context: Context) -> InSyncReplicas:
        """Nothing is known of the followers; members of the ISR get the benefit of the doubt."""
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
        """The set that the controller may have decided by now; empty when nothing is proposed."""
        return () if self.proposal is None else tuple(broker for broker, _ in self.proposal.isr)

    @property
    def maximal(self) -> tuple[BrokerId, ...]:
        """Everyone whom the controller may count as in sync."""
        either = (*self.state.isr, *self.proposed)
        return tuple(broker for broker in self.state.replicas if broker in either)

    @property
    def min_insync_replicas(self) -> int:
        """As configured, but never more than there are replicas."""
        configured = 1 if self.ignores_minimum else self.state.min_insync_replicas
        return min(configured, len(self.state.replicas))

    @property
    def below_minimum(self) -> bool:
        """Too few replicas are in sync for acks=all."""
        return len(self.state.isr) < self.min_insync_replicas

    def replicated_up_to(self, leader_end: Offset, context: Context) -> Offset:
        """The offset below which everyone who counts has everything; -1: someone is unknown.

        A replica outside the ISR that keeps up is waited for too, or it could never join.
        """
        if self.below_minimum:
            return UNKNOWN_OFFSET
        maximal = self.maximal
        lag_ms = context.timeouts.replica_lag_ms
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
        """The offset below which no replica that lives has a record; -1: one is unknown."""
        followers = self.remotes.items()
        alive = [remote.log_start for broker, remote in followers if context.may_be_in_sync(broker)]
        return min([log_start, *alive])

    def lagging(self, leader_end: Offset, context: Context) -> tuple[BrokerId, ...]:
        """The members of the ISR that have not had the whole log for too long."""
        lag_ms = context.timeouts.replica_lag_ms
        return tuple(
            broker
            for broker in self.state.isr
            if broker != context.broker_id
            and not self.remotes[broker].is_caught_up(leader_end, context.now_ms, lag_ms)
        )

    def may_join(
        self, broker: BrokerId, high_watermark: Offset, epoch_start: Offset, context: Context
    ) -> bool:
        """The follower, whose fetch is being handled, may be proposed for the ISR.

        It has to reach the start of this leader epoch, not only a high watermark that may lag
        behind what earlier leaders had replicated (KAFKA-7128). Where its log starts is not asked,
        as in Kafka: `joins-with-old-records` of the model says what may come of that.
        """
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
        """The proposal of this set, each member under the broker epoch that it is known by.

        It stays what it is however often it is sent: with a newer broker epoch it would
        speak for a life of a member that has not shown how far its log reaches (KAFKA-15221).
        """
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
                    else self.remotes[broker].broker_epoch,
                )
                for broker in self.state.replicas
                if broker in isr
            ),
        )

    def with_proposal(self, proposal: AlterPartition, correlation: int) -> InSyncReplicas:
        """The same with a proposal on its way, for the first time or again."""
        return replace(self, proposal=proposal, proposal_correlation=correlation)

    def with_newer_state(self, state: PartitionState) -> InSyncReplicas:
        """The controller's newer state settles every proposal made under an older one."""
        if state.partition_epoch <= self.state.partition_epoch:
            return self
        return replace(self, state=state, proposal=None, proposal_correlation=None)

    def with_metadata(self, state: PartitionState) -> InSyncReplicas:
        """What newer metadata tells: a state, or only another configuration of the same one.

        The answer to a proposal tells its state too, maybe later than metadata that was newer: of
        the same partition epoch it is no news.
        """
        if state.partition_epoch == self.state.partition_epoch:
            return replace(self, state=state)
        return self.with_newer_state(state)

    def with_response(self, correlation: int, answer: AlteredPartition) -> InSyncReplicas:
        """What an answer to a proposal changes.

        Only INELIGIBLE_REPLICA says that the proposal was not applied, and only for the last
        request: requests to the controller stay in order, so an earlier one that was applied would
        have let this one find a newer partition epoch. After any other refusal the leader waits for
        newer metadata under the maximal ISR.
        """
        if answer.error is ErrorCode.INELIGIBLE_REPLICA:
            if correlation != self.proposal_correlation:
                return self
            return replace(self, proposal=None, proposal_correlation=None)
        state = answer.state
        if state is None or state.leader_epoch != self.state.leader_epoch:
            return self
        return self.with_newer_state(state)

    def with_remote(self, broker: BrokerId, remote: RemoteReplica) -> InSyncReplicas:
        """The same with newer knowledge of one follower."""
        return replace(self, remotes={**self.remotes, broker: remote})
