"""A group coordinator: who leads a topic partition of `__consumer_offsets`, in one leader epoch.

Memberships (`group_membership`) live in memory and are written to the log when a generation has its
assignment, so that a new coordinator goes on with the same generation. Offsets live in the log
alone (`group_offsets`).

Source: KIP-62, KIP-98, KIP-134, KIP-345, KIP-447; protocol rules, section e.
Simplified: classic groups only; a coordinator whose high watermark lags behind what earlier ones
had written answers COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl import classic_group, coordinator_log, group_membership, group_offsets
from reference_impl.bugs import Bug
from reference_impl.classic_group import ClassicGroup, GroupState, Member
from reference_impl.coordinator_log import AS_TOLD
from reference_impl.group_messages import (
    CommitOffsets,
    CommittedOffsets,
    FetchedOffsets,
    FetchOffsets,
    GroupRequest,
    HeartbeatedGroup,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    SyncedGroup,
    SyncGroup,
    refusal,
)
from reference_impl.group_offsets import GroupOffsets
from reference_impl.messages import ErrorCode, Produced
from reference_impl.partition_log import PartitionLog
from reference_impl.step import Effects, SetTimer, Timer, TimerKind
from reference_impl.surroundings import Requester, Surroundings


class Written(NamedTuple):
    """An append on its way: who asked, and which generation it assigns, if it does."""

    requester: Requester | None
    request: GroupRequest
    generation: int | None = None


Coordinated = tuple["GroupCoordinator", Effects]
Answered = tuple[ClassicGroup, Effects]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinator:
    """The groups of one topic partition of the internal topic."""

    topic_partition: TopicPartition
    coordinator_epoch: LeaderEpoch
    loaded_at: Offset  # the end of the log when this coordinator began
    groups: Mapping[str, ClassicGroup] = field(default_factory=dict[str, ClassicGroup])
    offsets: GroupOffsets = GroupOffsets()  # noqa: RUF009 - a frozen value
    changes: Mapping[int, Written] = field(default_factory=dict[int, Written])

    @classmethod
    def begin(
        cls,
        topic_partition: TopicPartition,
        coordinator_epoch: LeaderEpoch,
        log: PartitionLog,
        around: Surroundings,
    ) -> Coordinated:
        """The coordinator that its log makes."""
        groups: dict[str, ClassicGroup] = {}
        for batch in coordinator_log.written(log):
            for entry in batch.entries:
                key: Any = entry.key
                if key[0] == classic_group.KIND:
                    groups[key[1]] = ClassicGroup.of(entry, around.now_ms)
        coordinator = cls(
            topic_partition=topic_partition,
            coordinator_epoch=coordinator_epoch,
            loaded_at=log.end_offset,
            groups=groups,
        )
        return coordinator.fired(around)

    def end(self) -> Effects:
        """What is owed when another broker coordinates."""
        error = ErrorCode.NOT_COORDINATOR
        waiting: Effects = ()
        for group in self.groups.values():
            for member in group.members.values():
                if member.joining is not None:
                    waiting += (member.joining.reply(JoinedGroup(error=error)),)
                if member.syncing is not None:
                    waiting += (member.syncing.reply(SyncedGroup(error=error)),)
        return waiting + tuple(
            written.requester.reply(refusal(written.request, error))
            for written in self.changes.values()
            if written.requester is not None
        )

    # ------------------------------------------------------------ requests

    def asked(
        self, around: Surroundings, requester: Requester, request: GroupRequest, log: PartitionLog
    ) -> Coordinated:
        """A request of a member, or of anybody about the group's offsets."""
        if log.high_watermark < self.loaded_at:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return self, (requester.reply(refusal(request, error)),)
        coordinator = replace(self, offsets=self.offsets.caught_up(log, around.bugs))
        group = self.groups.get(request.group, ClassicGroup(group=request.group))
        match request:
            case JoinGroup():
                group, effects = group_membership.join(group, around, requester, request)
            case SyncGroup():
                return coordinator._sync(around, requester, request, group)
            case HeartbeatGroup():
                group, effects = _heartbeat(group, around, requester, request)
            case LeaveGroup():
                group, effects = group_membership.leave(group, around, requester, request)
            case CommitOffsets():
                return coordinator._commit(around, requester, request, group)
            case FetchOffsets():
                return coordinator, (requester.reply(coordinator._fetch(request)),)
        return coordinator._with(group), effects

    def _sync(
        self, around: Surroundings, requester: Requester, request: SyncGroup, group: ClassicGroup
    ) -> Coordinated:
        error = _member_error(group, request)
        if error is ErrorCode.NONE and group.state is GroupState.PREPARING:
            error = ErrorCode.REBALANCE_IN_PROGRESS
        if error is not ErrorCode.NONE:
            return self, (requester.reply(SyncedGroup(error=error)),)
        member = replace(group.members[request.member_id], heard_ms=around.now_ms)
        if group.state is GroupState.STABLE:
            return self._with(group.with_member(member)), (requester.reply(_part(group, member)),)
        group = group.with_member(replace(member, syncing=requester))
        is_assigned = any(written.generation == group.generation for written in self._of(group))
        if request.member_id != group.leader or is_assigned:
            return self._with(group), ()
        told = dict(request.assignments)
        group = replace(
            group,
            members={
                id_: replace(member, assignment=told.get(id_, b""))
                for id_, member in group.members.items()
            },
        )
        send = coordinator_log.append(around, self.topic_partition, [group.entry()])
        written = Written(None, request, group.generation)
        changes = {**self.changes, around.correlation: written}
        return replace(self._with(group), changes=changes), (send,)

    def _commit(
        self,
        around: Surroundings,
        requester: Requester,
        request: CommitOffsets,
        group: ClassicGroup,
    ) -> Coordinated:
        error = _commit_error(group, request)
        if Bug.GENERATION_NOT_CHECKED in around.bugs and request.transactional_id is not None:
            error = ErrorCode.NONE
        if error is not ErrorCode.NONE or not request.offsets:
            return self, (requester.reply(CommittedOffsets(error=error)),)
        entries = [group_offsets.entry(request.group, at, kept) for at, kept in request.offsets]
        send = coordinator_log.append(
            around,
            self.topic_partition,
            entries,
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            adds_partition=request.adds_partition,
        )
        changes = {**self.changes, around.correlation: Written(requester, request)}
        member = group.members.get(request.member_id)
        coordinator = replace(self, changes=changes)
        if member is not None:
            heard = replace(member, heard_ms=around.now_ms)
            coordinator = coordinator._with(group.with_member(heard))
        return coordinator, (send,)

    def _fetch(self, request: FetchOffsets) -> FetchedOffsets:
        known = self.offsets.of(request.group)
        wanted = request.topic_partitions
        places = tuple(sorted(known)) if wanted is None else wanted
        return FetchedOffsets(
            offsets=tuple(
                (place, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
                if request.require_stable and self.offsets.is_unstable(request.group, place)
                else (place, known.get(place), ErrorCode.NONE)
                for place in places
            )
        )

    # ------------------------------------------------------------ the log and time

    def appended(self, around: Surroundings, correlation: int, answer: Produced) -> Coordinated:
        """The leader has answered an append."""
        written = self.changes[correlation]
        rest = {key: value for key, value in self.changes.items() if key != correlation}
        coordinator = replace(self, changes=rest)
        error = AS_TOLD.get(answer.error, answer.error)
        if written.generation is None:
            assert written.requester is not None
            return coordinator, (written.requester.reply(CommittedOffsets(error=error)),)
        group = self.groups[written.request.group]
        if group.generation != written.generation or group.state is not GroupState.COMPLETING:
            return coordinator, ()  # the next rebalance has begun: it told them so
        syncing = [member for member in group.members.values() if member.syncing is not None]
        told = replace(
            group,
            members={id_: replace(member, syncing=None) for id_, member in group.members.items()},
        )
        after = told if error else told.moved(GroupState.STABLE)
        effects: Effects = tuple(
            member.syncing.reply(SyncedGroup(error=error) if error else _part(after, member))
            for member in syncing
            if member.syncing is not None
        )
        if error:
            after, more = group_membership.rebalance(after, around)
            effects += more
        return coordinator._with(after), effects

    def fired(self, around: Surroundings) -> Coordinated:
        """The timer: silent members are removed, rebalances end whose time is up."""
        coordinator = self
        effects: Effects = ()
        for known in self.groups.values():
            group, some = group_membership.without_the_silent(known, around)
            coordinator, effects = coordinator._with(group), effects + some
        timer = Timer(TimerKind.COORDINATOR, self.topic_partition)
        again = SetTimer(timer, around.now_ms + around.patience.coordinator_ms)
        return coordinator, (*effects, again)

    def _of(self, group: ClassicGroup) -> list[Written]:
        return [w for w in self.changes.values() if w.request.group == group.group]

    def _with(self, group: ClassicGroup) -> GroupCoordinator:
        if self.groups.get(group.group) is group or (
            group.group not in self.groups and group == ClassicGroup(group=group.group)
        ):
            return self
        return replace(self, groups={**self.groups, group.group: group})


# ---------------------------------------------------------------- who may


def _heartbeat(
    group: ClassicGroup, around: Surroundings, requester: Requester, request: HeartbeatGroup
) -> Answered:
    error = _member_error(group, request)
    if error is ErrorCode.NONE:
        member = replace(group.members[request.member_id], heard_ms=around.now_ms)
        group = group.with_member(member)
        if group.state is GroupState.PREPARING:
            error = ErrorCode.REBALANCE_IN_PROGRESS
    return group, (requester.reply(HeartbeatedGroup(error=error)),)


def _member_error(
    group: ClassicGroup, request: SyncGroup | HeartbeatGroup | CommitOffsets
) -> ErrorCode:
    static = group.of_instance(request.instance_id)
    if static is not None and static.member_id != request.member_id:
        return ErrorCode.FENCED_INSTANCE_ID
    if request.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE


def _commit_error(group: ClassicGroup, request: CommitOffsets) -> ErrorCode:
    """Who may commit: members in their generation, and anybody while nobody is a member.

    A transactional commit without a member is one of a client before KIP-447: it is not fenced.
    """
    if not request.group:
        return ErrorCode.INVALID_GROUP_ID
    is_txn = request.transactional_id is not None
    is_member = bool(request.member_id) or request.instance_id is not None
    if request.generation < 0 and not is_member and (not group.members or is_txn):
        return ErrorCode.NONE
    if request.generation < 0 and not is_member:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not group.members:
        return ErrorCode.ILLEGAL_GENERATION
    error = _member_error(group, request)
    if error is ErrorCode.NONE and group.state is GroupState.COMPLETING and not is_txn:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


def _part(group: ClassicGroup, member: Member) -> SyncedGroup:
    return SyncedGroup(
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        assignment=group.members[member.member_id].assignment,
    )
