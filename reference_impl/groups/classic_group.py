"""A group of the classic protocol. It has members, a generation, and a state machine of four
states:

           a member joins, leaves or expires          all have joined, or the time is up
    Empty -----------------------> PreparingRebalance ----------------> CompletingRebalance
      ^                                ^        |                                |
      |          no member is left     |        |                                | the leader
      +--------------------------------|--------+                                | has assigned
                                       |                                         v
                                       +-------------------------------------- Stable

Source: KIP-62, KIP-134, KIP-345, KIP-394; KAFKA-8500; docs/kafka-rules.md E1.
Simplified: a group has no state Dead. If a client uses an expired group, the group is created
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from reference_impl.log.coordinator_records import GROUP, Entry
from reference_impl.node.context import Requester
from reference_impl.protocol.groups import JoinedGroup, JoinGroup


class GroupState(Enum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


PREDECESSORS: Final[Mapping[GroupState, frozenset[GroupState]]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING}),
    GroupState.PREPARING: frozenset({GroupState.EMPTY, GroupState.COMPLETING, GroupState.STABLE}),
    GroupState.COMPLETING: frozenset({GroupState.PREPARING}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    member_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    last_heartbeat_ms: int
    client_id: str = ""
    assignment: bytes = b""
    joining: Requester | None = None  # waits for the next generation
    syncing: Requester | None = None  # waits for its assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroup:
    group: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    members: Mapping[str, Member] = field(default_factory=dict[str, Member])  # in order of joining
    pending_members: Mapping[str, int] = field(
        default_factory=dict[str, int]
    )  # member id -> deadline of its join
    empty_since_ms: int = -1  # -1: the group has members, or never had a member
    deadline_ms: int = 0  # when the rebalance ends, even if a member has not joined
    opens_ms: int = 0  # the rebalance does not end before this time
    awaited_syncs: frozenset[str] = frozenset()  # members that must send SyncGroup
    sync_deadline_ms: int = 0  # at this time, the awaited members are removed

    def in_state(self, state: GroupState, **changes: Any) -> ClassicGroup:
        """Returns the group in the state `state`, with the `changes` of other fields. Raises
        ValueError if the state machine does not allow this transition.
        """
        if self.state not in PREDECESSORS[state]:
            raise ValueError(f"group {self.group}: {self.state.value} -> {state.value}")
        return replace(self, state=state, **changes)

    def with_member(self, member: Member) -> ClassicGroup:
        return replace(self, members={**self.members, member.member_id: member})

    def without(self, member_id: str) -> ClassicGroup:
        return replace(
            self,
            members={id_: m for id_, m in self.members.items() if id_ != member_id},
            pending_members={
                id_: until for id_, until in self.pending_members.items() if id_ != member_id
            },
            awaited_syncs=self.awaited_syncs - {member_id},
        )

    def of_instance(self, instance_id: str | None) -> Member | None:
        found = (m for m in self.members.values() if m.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def replaced(self, old: Member, member_id: str) -> ClassicGroup:
        """Returns the group after the static member `old` has restarted. The new process of this
        member has the member id `member_id`.
        """
        members = {
            (member_id if id_ == old.member_id else id_): (
                replace(old, member_id=member_id, joining=None, syncing=None)
                if id_ == old.member_id
                else member
            )
            for id_, member in self.members.items()
        }
        leader = member_id if self.leader == old.member_id else self.leader
        return replace(self, members=members, leader=leader)

    def admits(self, request: JoinGroup) -> bool:
        """Returns True if the request has the group's protocol type and a protocol that all members
        support. An empty group admits every request that has a protocol type and a protocol.

        Kafka: ClassicGroup.supportsProtocols.
        """
        names = {name for name, _ in request.protocols}
        if self.state is GroupState.EMPTY:
            return bool(request.protocol_type and names)
        for member in self.members.values():
            # If the sender is a member already, its earlier protocols also count.
            names &= {name for name, _ in member.protocols}
        return bool(names) and request.protocol_type == self.protocol_type

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of a member, or 0 if the group has no members."""
        return max((m.rebalance_timeout_ms for m in self.members.values()), default=0)

    @property
    def is_waited_for(self) -> bool:
        """True if all members are static and none of them has joined again. In this case, the
        rebalance is extended.
        """
        members = self.members.values()
        return bool(members) and all(
            m.joining is None and m.instance_id is not None for m in members
        )

    @property
    def voted_protocol(self) -> str:
        """The assignment protocol that the present members elect for the next generation.

        Kafka: ClassicGroup.selectProtocol.
        """
        return _voted(self.members)

    @property
    def all_joined(self) -> bool:
        """True if all members have joined again, and no client that got MEMBER_ID_REQUIRED still
        has to join.
        """
        return not self.pending_members and all(
            m.joining is not None for m in self.members.values()
        )

    def completed(self, now_ms: int) -> ClassicGroup:
        """Returns the group in its next generation. Its members are the members that have joined
        again and all static members. If there are no such members, the group becomes empty.

        Kafka: ClassicGroup.maybeElectNewJoinedLeader.
        """
        stays = {
            id_: member
            for id_, member in self.members.items()
            if member.joining is not None or member.instance_id is not None
        }
        if not stays:
            return self.in_state(
                GroupState.EMPTY,
                generation=self.generation + 1,
                empty_since_ms=now_ms,
                members={},
                pending_members={},
                leader="",
                protocol="",
            )
        joined = [id_ for id_, member in stays.items() if member.joining is not None]
        # A leader that has not joined again loses its role.
        leader = self.leader if self.leader in joined else joined[0]
        return self.in_state(
            GroupState.COMPLETING,
            generation=self.generation + 1,
            empty_since_ms=-1,
            members=stays,
            pending_members={},
            leader=leader,
            protocol=_voted(stays),
            awaited_syncs=frozenset(stays),
            sync_deadline_ms=now_ms + max(m.rebalance_timeout_ms for m in stays.values()),
        )

    def joined(self, member: Member, *, skips_assignment: bool = False) -> JoinedGroup:
        leads = member.member_id == self.leader
        return JoinedGroup(
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=self.leader,
            member_id=member.member_id,
            skips_assignment=skips_assignment and leads,
            members=tuple(
                (m.member_id, m.instance_id, dict(m.protocols).get(self.protocol, b""))
                for m in self.members.values()
            )
            if leads
            else (),
        )

    def entry(self, now_ms: int) -> Entry:
        """Returns the record of `__consumer_offsets` that stores the group.

        Kafka: GroupCoordinatorRecordHelpers.newGroupMetadataRecord.
        """
        return Entry(
            [GROUP, self.group],
            {
                "generation": self.generation,
                "protocol_type": self.protocol_type,
                "protocol": self.protocol or None,
                "leader": self.leader or None,
                # the time when the group became empty, or the present time if it has members
                "current_state_timestamp": now_ms if self.members else self.empty_since_ms,
                "members": [
                    {
                        "member_id": member.member_id,
                        "group_instance_id": member.instance_id,
                        "client_id": member.client_id,
                        "client_host": "",
                        "session_timeout": member.session_timeout_ms,
                        "rebalance_timeout": member.rebalance_timeout_ms,
                        "subscription": dict(member.protocols).get(self.protocol, b""),
                        "assignment": member.assignment,
                    }
                    for member in self.members.values()
                ],
            },
        )

    def tombstone(self) -> Entry:
        return Entry([GROUP, self.group], None)

    @classmethod
    def of(cls, entry: Entry, now_ms: int) -> ClassicGroup:
        """Returns the group that a record of `__consumer_offsets` stores. Each member supports only
        the protocol that the group has chosen. The members' sessions start at `now_ms`.
        """
        key: Any = entry.key
        value: Any = entry.value
        protocol = value["protocol"] or ""
        members = {
            one["member_id"]: Member(
                member_id=one["member_id"],
                instance_id=one["group_instance_id"],
                client_id=one["client_id"],
                session_timeout_ms=one["session_timeout"],
                rebalance_timeout_ms=one["rebalance_timeout"],
                protocols=((protocol, one["subscription"]),),
                last_heartbeat_ms=now_ms,
                assignment=one["assignment"],
            )
            for one in value["members"]
        }
        return cls(
            group=key[1],
            state=GroupState.STABLE if members else GroupState.EMPTY,
            generation=value["generation"],
            protocol_type=value["protocol_type"],
            protocol=protocol,
            leader=value["leader"] or "",
            empty_since_ms=-1 if members else value["current_state_timestamp"],
            members=members,
        )


def _voted(members: Mapping[str, Member]) -> str:
    common = set.intersection(*({name for name, _ in m.protocols} for m in members.values()))
    votes = [
        next(name for name, _ in member.protocols if name in common) for member in members.values()
    ]
    # if two protocols have equally many votes, the alphabetically first wins
    return min(sorted(set(votes)), key=lambda name: -votes.count(name))
