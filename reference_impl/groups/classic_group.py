"""A group of the classic protocol: members, a generation, and a state machine of four states.

           somebody joins, leaves or is silent        all have joined, or the time is up
    Empty -----------------------> PreparingRebalance ----------------> CompletingRebalance
      ^                                ^        |                                |
      |          nobody is left        |        |                                | the leader
      +--------------------------------|--------+                                | has assigned
                                       |                                         v
                                       +-------------------------------------- Stable

Between two generations everybody joins again; one of them, the leader, is told the others and says
who owns what. A static member (KIP-345) is known by its instance: a new process of it takes the
place of the old one, which is fenced.

Source: KIP-62, KIP-134, KIP-345, KIP-394; KAFKA-8500; protocol rules, section e.
Simplified: no state Dead, a group that is forgotten begins anew; a member that joined and never
syncs is noticed by its session only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from reference_impl.log.coordinator_log import Entry
from reference_impl.node.context import Requester
from reference_impl.protocol.groups import JoinedGroup, JoinGroup

KIND = "group"


class GroupState(Enum):
    """Where a group is between two generations."""

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
    """A member, what it can do, what it owns, and what it waits for."""

    member_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    last_heartbeat_ms: int
    assignment: bytes = b""
    joining: Requester | None = None  # waits for the next generation
    syncing: Requester | None = None  # waits for its assignment


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroup:
    """A group between two requests."""

    group: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    members: Mapping[str, Member] = field(default_factory=dict[str, Member])  # in order of joining
    pending_members: Mapping[str, int] = field(
        default_factory=dict[str, int]
    )  # member ids, until when
    empty_since_ms: int = -1  # -1: it has members, or never had any
    deadline_ms: int = 0  # of the rebalance
    opens_ms: int = 0  # the rebalance does not end before

    def moved(self, state: GroupState, **changes: Any) -> ClassicGroup:
        """The next state; ValueError when the table does not allow it."""
        if self.state not in PREDECESSORS[state]:
            raise ValueError(f"group {self.group}: {self.state.value} -> {state.value}")
        return replace(self, state=state, **changes)

    def with_member(self, member: Member) -> ClassicGroup:
        """The same with a member, new or changed."""
        return replace(self, members={**self.members, member.member_id: member})

    def without(self, member_id: str) -> ClassicGroup:
        """The same without a member."""
        return replace(
            self,
            members={id_: m for id_, m in self.members.items() if id_ != member_id},
            pending_members={
                id_: until for id_, until in self.pending_members.items() if id_ != member_id
            },
        )

    def of_instance(self, instance_id: str | None) -> Member | None:
        """The member that a static instance is at present."""
        found = (m for m in self.members.values() if m.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def replaced(self, old: Member, member_id: str) -> ClassicGroup:
        """A new process of a static instance in the place of the old one."""
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

    def takes(self, request: JoinGroup) -> bool:
        """The newcomer speaks a protocol that all others speak too."""
        others = [m for m in self.members.values() if m.member_id != request.member_id]
        if not request.protocols or (others and request.protocol_type != self.protocol_type):
            return False
        names = {name for name, _ in request.protocols}
        for member in others:
            names &= {name for name, _ in member.protocols}
        return bool(names)

    @property
    def everybody_joined(self) -> bool:
        """All members wait for the next generation, and none was promised a place."""
        return not self.pending_members and all(
            m.joining is not None for m in self.members.values()
        )

    def completed(self, now_ms: int) -> ClassicGroup:
        """The next generation, of those who have joined; a static member may be late."""
        stays = {
            id_: member
            for id_, member in self.members.items()
            if member.joining is not None or member.instance_id is not None
        }
        if not stays:
            return self.moved(
                GroupState.EMPTY,
                generation=self.generation + 1,
                empty_since_ms=now_ms,
                members={},
                pending_members={},
                leader="",
                protocol="",
            )
        joined = [id_ for id_, member in stays.items() if member.joining is not None]
        leader = self.leader if self.leader in stays else (joined or [*stays])[0]
        return self.moved(
            GroupState.COMPLETING,
            generation=self.generation + 1,
            empty_since_ms=-1,
            members=stays,
            pending_members={},
            leader=leader,
            protocol=_voted(stays),
        )

    def joined(self, member: Member, *, skips_assignment: bool = False) -> JoinedGroup:
        """What a member is told about the generation."""
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

    def entry(self) -> Entry:
        """As the coordinator's log keeps it."""
        return Entry(
            [KIND, self.group],
            {
                "generation": self.generation,
                "protocol_type": self.protocol_type,
                "protocol": self.protocol,
                "leader": self.leader,
                "empty_since_ms": self.empty_since_ms,
                "members": [
                    {
                        "member_id": member.member_id,
                        "instance_id": member.instance_id,
                        "session_timeout_ms": member.session_timeout_ms,
                        "rebalance_timeout_ms": member.rebalance_timeout_ms,
                        "protocols": [[name, data.hex()] for name, data in member.protocols],
                        "assignment": member.assignment.hex(),
                    }
                    for member in self.members.values()
                ],
            },
        )

    @classmethod
    def of(cls, entry: Entry, now_ms: int) -> ClassicGroup:
        """What an entry of the log says; every member is taken to have been heard just now."""
        key: Any = entry.key
        told: Any = entry.value
        members = {
            one["member_id"]: Member(
                member_id=one["member_id"],
                instance_id=one["instance_id"],
                session_timeout_ms=one["session_timeout_ms"],
                rebalance_timeout_ms=one["rebalance_timeout_ms"],
                protocols=tuple((name, bytes.fromhex(data)) for name, data in one["protocols"]),
                last_heartbeat_ms=now_ms,
                assignment=bytes.fromhex(one["assignment"]),
            )
            for one in told["members"]
        }
        return cls(
            group=key[1],
            state=GroupState.STABLE if members else GroupState.EMPTY,
            generation=told["generation"],
            protocol_type=told["protocol_type"],
            protocol=told["protocol"],
            leader=told["leader"],
            empty_since_ms=told["empty_since_ms"],
            members=members,
        )


def _voted(members: Mapping[str, Member]) -> str:
    """The protocol that most prefer, of those that all speak; the first name of equals."""
    common = set.intersection(*({name for name, _ in m.protocols} for m in members.values()))
    votes = [
        next(name for name, _ in member.protocols if name in common) for member in members.values()
    ]
    return min(sorted(set(votes)), key=lambda name: -votes.count(name))
