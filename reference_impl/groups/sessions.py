"""Finds members of KIP-848 groups that have sent no heartbeat for too long, or that revoke
partitions too slowly.

The log does not store the times of heartbeats and revocations. On a new coordinator, the session
and the revocation of each member therefore start with their full time.

Source: KIP-848 (group.consumer.session.timeout.ms, the member's own rebalance timeout).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from reference_impl.groups.consumer_group import ConsumerGroup, ConsumerMember, MemberState
from reference_impl.node.context import Context


class Clock(NamedTuple):
    """Two times of a member: its latest heartbeat, and the start of its pending revocation."""

    last_heartbeat_ms: int
    revoking_since_ms: int


MemberKey = tuple[str, str]  # group, member id
Clocks = Mapping[MemberKey, Clock]


def after_heartbeat(
    clocks: Clocks, before: ConsumerGroup, after: ConsumerGroup, member_id: str, now_ms: int
) -> Clocks:
    """Returns the clocks of all members after a heartbeat of this member. If the member has left
    the group, its clock is removed.
    """
    key = (after.group, member_id)
    if member_id not in after.members:
        return {known: clock for known, clock in clocks.items() if known != key}
    goes_on = key in clocks and _revocation(before, member_id) == _revocation(after, member_id)
    since_ms = clocks[key].revoking_since_ms if goes_on else now_ms
    return {**clocks, key: Clock(now_ms, since_ms)}


def _revocation(group: ConsumerGroup, member_id: str) -> object:
    member = group.members.get(member_id)
    return member and (member.state, member.epoch, sorted(member.revoking))


def with_all_members(clocks: Clocks, groups: Mapping[str, ConsumerGroup], now_ms: int) -> Clocks:
    """Returns the clock of each member of the groups. A member without a clock in `clocks` gets
    one, as if it had sent a heartbeat at `now_ms` and begun to revoke partitions then.
    """
    return {
        (group.group, member_id): clocks.get((group.group, member_id), Clock(now_ms, now_ms))
        for group in groups.values()
        for member_id in group.members
    }


def expired_members(clocks: Clocks, group: ConsumerGroup, context: Context) -> list[str]:
    """Returns the ids of the members whose session timeout or revocation time has expired."""
    return [
        member_id
        for member_id, member in group.members.items()
        if _is_expired(clocks[group.group, member_id], member, context)
    ]


def _is_expired(clock: Clock, member: ConsumerMember, context: Context) -> bool:
    revokes = member.state is MemberState.UNREVOKED
    is_silent = (
        context.now_ms - clock.last_heartbeat_ms >= context.broker_settings.member_session_ms
    )
    is_slow = context.now_ms - clock.revoking_since_ms >= member.rebalance_timeout_ms
    return is_silent or (revokes and is_slow)
