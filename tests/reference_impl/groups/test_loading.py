"""A group coordinator handles no request until it has loaded its log.

A new coordinator's log may end above the high watermark. Until the high watermark reaches this end,
a record may still be lost, so the coordinator cannot know its groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from model.vocabulary import BrokerId, LeaderEpoch, Offset, PartitionEpoch, TopicPartition
from reference_impl.broker.coordinators import LocalCoordinators
from reference_impl.groups import administration, requests
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.node.step import Effects, Reply
from reference_impl.partition.leader import Leader, become_leader
from reference_impl.protocol.consumer_groups import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, Coordinators
from reference_impl.protocol.group_administration import (
    DeleteGroup,
    DeleteOffsets,
    DescribeGroup,
    GroupAdministration,
    ListedGroups,
)
from reference_impl.protocol.groups import (
    CommitOffsets,
    FetchOffsets,
    GroupRequest,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.partition.led import CLIENT, TIMEOUTS, context

PLACE, IN = TopicPartition(CONSUMER_OFFSETS, 0), TopicPartition("in", 0)
LOADING, NONE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE
REQUESTS: tuple[GroupRequest, ...] = (
    JoinGroup(group="g", protocols=(("range", b""),)),
    SyncGroup(group="g", generation=1, member_id="m"),
    HeartbeatGroup(group="g", generation=1, member_id="m"),
    LeaveGroup(group="g", members=(("m", None),)),
    ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=1),
    ConsumerGroupDescribe(group="g"),
    CommitOffsets(group="g", offsets=()),
    FetchOffsets(group="g"),
    DescribeGroup(group="g"),
    DeleteGroup(group="g"),
    DeleteOffsets(group="g", topic_partitions=(IN,)),
)
# The deletion of an offset: the log has a record, and no group.
ONE_RECORD = encode([Record(key=b'["offset", "g", "in", 0]', value=None)])


def unreplicated() -> PartitionLog:
    return PartitionLog().append(Batch.of(ONE_RECORD))


def elected(log: PartitionLog) -> GroupCoordinator:
    return GroupCoordinator.load(PLACE, LeaderEpoch(1), log, context())[0]


def errors(effects: Effects) -> list[ErrorCode]:
    return [
        getattr(effect.response, "error", ErrorCode.NONE)
        for effect in effects
        if isinstance(effect, Reply)
    ]


def leading(log: PartitionLog) -> Leader:
    members = (BrokerId(1), BrokerId(2))
    state = PartitionState(
        replicas=members,
        isr=members,
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(1),
        partition_epoch=PartitionEpoch(0),
    )
    return become_leader(PLACE, log, ProducerStates(), state, context())[0]


def test_every_request_of_a_group_is_in_the_list() -> None:
    kinds = {*get_args(GroupRequest), *get_args(GroupAdministration)} - {GroupAdministration}
    assert {type(request) for request in REQUESTS} == kinds


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda it: type(it).__name__)
def test_no_request_is_answered_while_the_log_is_loaded(request_: GroupRequest) -> None:
    """Kafka: CoordinatorRuntime.withActiveContextOrThrow."""
    log = unreplicated()
    coordinator = elected(log)
    after, effects = requests.on_request(coordinator, context(), CLIENT, request_, log)
    assert after == coordinator
    # A heartbeat gets no error: the member stays. Kafka: GroupCoordinatorService.heartbeat.
    assert errors(effects) == [NONE if isinstance(request_, HeartbeatGroup) else LOADING]
    _, effects = requests.on_request(
        coordinator, context(), CLIENT, request_, log.with_high_watermark(Offset(1))
    )
    assert LOADING not in errors(effects)


def test_groups_are_listed_only_after_the_log_is_loaded() -> None:
    """Until the log is loaded, ListGroups is refused. Kafka: GroupCoordinatorService.listGroups."""
    log = unreplicated()
    loaded = log.with_high_watermark(Offset(1))
    coordinator = elected(log)
    assert administration.listed(coordinator, log, context()) is None
    assert administration.listed(coordinator, loaded, context()) == ()
    local = LocalCoordinators({PLACE: coordinator})
    for replica, answer in (
        (replace(leading(log), log=loaded), ListedGroups()),
        (leading(log), ListedGroups(error=LOADING)),
    ):
        (reply,) = local.list_groups(context(), CLIENT, {PLACE: replica})
        assert isinstance(reply, Reply)
        assert reply.response == answer


def test_a_broker_that_does_not_coordinate_the_group_names_no_loading() -> None:
    elsewhere = replace(context(), coordinators=Coordinators({PLACE: BrokerId(2)}))
    for request in REQUESTS:
        if request != CommitOffsets(group="g", offsets=()):
            _, effects = LocalCoordinators().on_group_request(elsewhere, CLIENT, request, {})
            assert errors(effects) == [ErrorCode.NOT_COORDINATOR]


def test_the_coordinator_looks_for_expired_offsets_at_each_interval() -> None:
    """Kafka: GroupCoordinatorShard.scheduleGroupMetadataExpiration."""
    check_ms, log = TIMEOUTS.offsets_check_ms, PartitionLog()
    coordinator = elected(log)
    for now_ms, next_ms in ((check_ms - 1, check_ms), (check_ms, 2 * check_ms)):
        after, _ = coordinator.on_timer(context(now_ms), log)
        assert after.expiry_ms == next_ms
