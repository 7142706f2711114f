"""Classic groups: how many members a group admits (group.max.size).

Kafka: GroupMetadataManager.acceptJoiningMember.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.conftest import InstantCluster
from tests.reference_impl.groups.classic import Group, StartCluster

FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
QUICK = BrokerSettings(group_initial_delay_ms=0)


@pytest.fixture
def group(start_cluster: StartCluster) -> Group:
    """Returns a group that admits two members."""
    cluster: InstantCluster = start_cluster(
        brokers=1, broker_settings=replace(QUICK, group_max_size=2)
    )
    return Group(cluster)


def test_a_full_group_admits_its_own_members_only(group: Group) -> None:
    one = group.response(group.join())
    two = group.join()
    again = group.join(one.member_id)
    second = group.response(two)
    assert {group.response(again).generation, second.generation} == {2}
    assert group.response(group.join()).error is FULL
    rejoined = group.response(group.join(second.member_id))
    assert rejoined.error is ErrorCode.NONE


def test_during_a_rebalance_the_joining_members_count(group: Group) -> None:
    """A member that rejoins too late loses its place to a new member."""
    long: dict[str, Any] = {"session_timeout_ms": 60_000}
    one = group.response(group.join(**long))
    new = group.join(**long)
    newer = group.join(**long)
    assert group.response(group.join(one.member_id, **long)).error is FULL
    assert (group.response(new), group.response(newer)) == (None, None)
    assert group.heartbeat(one) is ErrorCode.UNKNOWN_MEMBER_ID
