"""Offsets of KIP-848 groups: commits and fetches need a valid member epoch."""

from __future__ import annotations

import pytest

from model.vocabulary import TopicPartition
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import AddOffsetsToTxn
from tests.reference_impl.conftest import InstantCluster
from tests.reference_impl.groups.consumer_member import (
    NONE,
    Member,
    StartCluster,
)


def test_commits_and_fetches_need_a_valid_member_epoch(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    assert m.commit(1, member_id="", generation=-1) is NONE  # the group has no members
    m.heartbeat()
    assert m.commit(2) is NONE
    assert m.commit(3, generation=0) is ErrorCode.STALE_MEMBER_EPOCH
    assert m.commit(3, member_id="n") is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.commit(3, member_id="", generation=-1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.offset(member_id="m", member_epoch=2) == 2
    assert m.offset(member_id="m", member_epoch=0) is ErrorCode.STALE_MEMBER_EPOCH
    assert m.offset(member_id="n", member_epoch=1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.offset() == 2


@pytest.mark.parametrize(
    ("bugs", "error"),
    [
        (NO_BUGS, NONE),
        (frozenset({Bug.EXACT_EPOCH_WANTED}), ErrorCode.STALE_MEMBER_EPOCH),
    ],
)
def test_only_an_owner_may_commit_with_an_earlier_epoch(
    start_cluster: StartCluster, bugs: Bugs, error: ErrorCode
) -> None:
    cluster = start_cluster(bugs=bugs)
    cluster.create("t", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat()
    n.heartbeat()
    m.call(owned=(TopicPartition("t", 0),))
    m.call(owned=(TopicPartition("t", 0),))  # it is in epoch 3, and has heard of 2
    assert m.commit(5, index=0) is error
    n.heartbeat()
    assert m.commit(5, index=1) is ErrorCode.STALE_MEMBER_EPOCH  # n has it now


def test_transactional_offsets_need_a_valid_member_epoch(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    m.heartbeat()
    at = cluster.coordinator("x", transactional=True)
    response = cluster.call(InitProducerId(transactional_id="x"), at)
    who = {
        "transactional_id": "x",
        "producer_id": response.producer_id,
        "producer_epoch": response.producer_epoch,
    }
    assert cluster.call(AddOffsetsToTxn(**who, group="g"), at).error is NONE
    assert m.commit(5, **who) is NONE
    assert m.commit(5, generation=0, **who) is ErrorCode.ILLEGAL_GENERATION
