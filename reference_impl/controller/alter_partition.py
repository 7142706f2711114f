"""Checks a leader's request to change the ISR of its topic partition (KIP-497, KIP-841, KIP-903).

The checks are made in the same order as in Kafka, so a request with several faults gets the same
error.

Source: ReplicationControlManager.validateAlterPartitionData of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping

from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.protocol.controller import AlterPartition, BrokerState, PartitionState
from reference_impl.protocol.messages import UNKNOWN_BROKER_EPOCH, ErrorCode


def alter_error(
    request: AlterPartition, state: PartitionState | None, brokers: Mapping[BrokerId, BrokerState]
) -> ErrorCode:
    leader = brokers.get(request.broker_id)
    members = [member for member, _ in request.isr]
    if leader is None or leader.broker_epoch != request.broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    if state is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    all_eligible = all(_is_eligible(brokers.get(member), epoch) for member, epoch in request.isr)
    reasons = (
        (request.leader_epoch > state.leader_epoch, ErrorCode.NOT_CONTROLLER),
        (request.partition_epoch > state.partition_epoch, ErrorCode.NOT_CONTROLLER),
        (request.leader_epoch < state.leader_epoch, ErrorCode.FENCED_LEADER_EPOCH),
        (request.broker_id != state.leader, ErrorCode.INVALID_REQUEST),
        (request.partition_epoch < state.partition_epoch, ErrorCode.INVALID_UPDATE_VERSION),
        (not set(members) <= set(state.replicas), ErrorCode.INVALID_REQUEST),
        (len(set(members)) < len(members), ErrorCode.INVALID_REQUEST),
        (request.broker_id not in members, ErrorCode.INVALID_REQUEST),
        (request.recovering and len(members) > 1, ErrorCode.INVALID_REQUEST),
        (request.recovering and not state.recovering, ErrorCode.INVALID_REQUEST),
        (not all_eligible, ErrorCode.INELIGIBLE_REPLICA),
    )
    return next((error for applies, error in reasons if applies), ErrorCode.NONE)


def _is_eligible(broker: BrokerState | None, broker_epoch: BrokerEpoch) -> bool:
    if broker is None or broker.fenced:
        return False
    return broker_epoch in {UNKNOWN_BROKER_EPOCH, broker.broker_epoch}
