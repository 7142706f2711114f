"""A group coordinator: the leader of a partition of `__consumer_offsets`, in one leader epoch.

Classic groups (`membership`) are kept in memory. Each is written to the log when a generation has
its assignment (`assignment`), so a new coordinator continues with the same generation. KIP-848
groups (`consumer_group_log`) and offsets (`offsets`) are computed from the log alone. A group id
belongs to one protocol until the group is empty.

Source: KIP-62, KIP-98, KIP-134, KIP-345, KIP-447, KIP-848; docs/kafka-rules.md E1 to E5.
Simplified: a coordinator whose high watermark is below its log end at election responds
COORDINATOR_LOAD_IN_PROGRESS; no group has members of both protocols.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl.groups import (
    assignment,
    classic_group,
    consumer_group_log,
    expiry,
    heartbeat,
    membership,
    sessions,
)
from reference_impl.groups import commits as group_commits
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.consumer_group_log import ConsumerGroups
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.groups.sessions import Clocks, MemberKey
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import CLIENT_ERRORS, Entry
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Reply, SetTimer, StepResult, Timer, TimerKind
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
)
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffsets,
    FetchOffsets,
    GroupRequest,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    SyncedGroup,
    SyncGroup,
    refusal,
)
from reference_impl.protocol.messages import ErrorCode, Produced
from reference_impl.protocol.requests import Response


class PendingResponse(NamedTuple):
    """A response that waits until the records that it depends on are replicated."""

    requester: Requester
    request: GroupRequest
    response: Response

    def answered(self, error: ErrorCode = ErrorCode.NONE) -> Effects:
        return (self.requester.reply(refusal(self.request, error) if error else self.response),)


class PendingAppend(NamedTuple):
    """An append in flight, and the responses that are sent after it.

    `generation` is the group's generation if the append stores the assignment of a classic group,
    else None.
    """

    group: str = ""
    owed: tuple[PendingResponse, ...] = ()
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinator:
    """The state of the coordinator for the groups of one partition of `__consumer_offsets`."""

    topic_partition: TopicPartition
    coordinator_epoch: LeaderEpoch
    loaded_at: Offset  # the log end when this coordinator was elected
    groups: Mapping[str, ClassicGroup] = field(default_factory=dict[str, ClassicGroup])
    consumers: ConsumerGroups = ConsumerGroups()  # noqa: RUF009 - a frozen value
    clocks: Clocks = field(default_factory=dict[MemberKey, sessions.Clock])
    offsets: GroupOffsets = GroupOffsets()  # noqa: RUF009 - a frozen value
    changes: Mapping[int, PendingAppend] = field(default_factory=dict[int, PendingAppend])
    expiry_ms: int = 0  # the next check for expired offsets and groups

    @classmethod
    def load(
        cls,
        topic_partition: TopicPartition,
        coordinator_epoch: LeaderEpoch,
        log: PartitionLog,
        context: Context,
    ) -> StepResult[GroupCoordinator]:
        groups: dict[str, ClassicGroup] = {}
        for batch in coordinator_log.read_batches(log):
            for entry in batch.entries:
                key: Any = entry.key
                if key[0] != classic_group.KIND:
                    continue
                groups.pop(key[1], None)
                if entry.value is not None:
                    groups[key[1]] = ClassicGroup.of(entry, context.now_ms)
        coordinator = cls(
            topic_partition=topic_partition,
            coordinator_epoch=coordinator_epoch,
            loaded_at=log.end_offset,
            groups=groups,
            offsets=GroupOffsets.of_log(log, context.bugs),
            expiry_ms=context.now_ms + context.timeouts.offsets_check_ms,
        )
        return coordinator._caught_up(log, context), (coordinator._timer(context),)

    def resign(self) -> Effects:
        """Returns error responses to all waiting requests when the coordinator changes."""
        error = ErrorCode.NOT_COORDINATOR
        waiting: Effects = ()
        for group in self.groups.values():
            for member in group.members.values():
                if member.joining is not None:
                    waiting += (member.joining.reply(JoinedGroup(error=error)),)
                if member.syncing is not None:
                    waiting += (member.syncing.reply(SyncedGroup(error=error)),)
        owed = (owed.answered(error) for written in self.changes.values() for owed in written.owed)
        return waiting + tuple(effect for effects in owed for effect in effects)

    # ------------------------------------------------------------ requests

    def on_request(
        self, context: Context, requester: Requester, request: GroupRequest, log: PartitionLog
    ) -> StepResult[GroupCoordinator]:
        """Handles a request of a group member, or of a client for offsets or a description."""
        if log.high_watermark < self.loaded_at:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return self, (requester.reply(refusal(request, error)),)
        coordinator = self._caught_up(log, context)
        match request:
            case ConsumerGroupHeartbeat():
                return coordinator._heartbeat(context, requester, request)
            case ConsumerGroupDescribe():
                described = coordinator._described(request)
                return coordinator._once_written(
                    context, request.group, [], PendingResponse(requester, request, described)
                )
            case CommitOffsets():
                return coordinator._commit(context, requester, request)
            case FetchOffsets():
                response = group_commits.fetch_offsets(
                    request,
                    coordinator.offsets,
                    coordinator._classic(request.group),
                    coordinator._consumer(request.group),
                )
                return coordinator, (requester.reply(response),)
            case _:
                return coordinator._on_classic_request(context, requester, request)

    def _on_classic_request(
        self,
        context: Context,
        requester: Requester,
        request: JoinGroup | SyncGroup | HeartbeatGroup | LeaveGroup,
    ) -> StepResult[GroupCoordinator]:
        before = group = self._classic(request.group)
        consumer = self.consumers.groups.get(request.group)
        if consumer is not None and consumer.members:
            is_new = isinstance(request, JoinGroup)
            error = "INCONSISTENT_GROUP_PROTOCOL" if is_new else "UNKNOWN_MEMBER_ID"
            return self, (requester.reply(refusal(request, ErrorCode[error])),)
        match request:
            case JoinGroup():
                group, effects = membership.join(group, context, requester, request)
            case SyncGroup():
                return self._sync(context, requester, request, group)
            case HeartbeatGroup():
                group, effects = membership.heartbeat(group, context, requester, request)
            case LeaveGroup():
                group, effects = membership.leave(group, context, requester, request)
        coordinator = self._with(group)
        takes_over = consumer is not None and bool(group.members)
        entries = consumer_group_log.tombstones(consumer) if consumer and takes_over else []
        if _must_be_kept(before, group, context.bugs):
            entries.append(group.entry())
        if not entries:
            return coordinator, effects
        mine = [
            effect
            for effect in effects
            if isinstance(effect, Reply) and (effect.to, effect.correlation) == requester
        ]
        owed = tuple(PendingResponse(requester, request, reply.response) for reply in mine)
        coordinator, sent = coordinator._append(
            context, entries, PendingAppend(request.group, owed)
        )
        return coordinator, (*(effect for effect in effects if effect not in mine), *sent)

    def _heartbeat(
        self, context: Context, requester: Requester, request: ConsumerGroupHeartbeat
    ) -> StepResult[GroupCoordinator]:
        classic = self._classic(request.group)
        if classic.members or classic.pending_members:
            error = ErrorCode.GROUP_ID_NOT_FOUND  # the group has the classic protocol
            return self, (requester.reply(refusal(request, error)),)
        before = self._consumer(request.group)
        after, answer = heartbeat.heartbeat(before, context, request)
        clocks = self.clocks
        if answer.error is ErrorCode.NONE:
            clocks = sessions.after_heartbeat(
                clocks, before, after, answer.member_id, context.now_ms
            )
        entries = consumer_group_log.entries(before, after)
        if entries and before.epoch == 0 and classic.generation:
            entries.append(Entry(classic.entry().key, None))
        owed = PendingResponse(requester, request, answer)
        return replace(self, clocks=clocks)._once_written(context, request.group, entries, owed)

    def _once_written(
        self, context: Context, group: str, entries: list[Entry], owed: PendingResponse
    ) -> StepResult[GroupCoordinator]:
        """Appends the entries to the log; sends the response once they are replicated.

        If there are no entries, the response waits for the last append of the group that is still
        in flight. If no append is in flight, the response is sent at once.
        """
        if entries:
            return self._append(context, entries, PendingAppend(group, (owed,)))
        last = max((n for n, known in self.changes.items() if known.group == group), default=None)
        if last is None:
            return self, owed.answered()
        written = self.changes[last]
        written = written._replace(owed=(*written.owed, owed))
        return replace(self, changes={**self.changes, last: written}), ()

    def _append(
        self, context: Context, entries: list[Entry], written: PendingAppend, **transaction: Any
    ) -> StepResult[GroupCoordinator]:
        send = coordinator_log.append(context, self.topic_partition, entries, **transaction)
        return replace(self, changes={**self.changes, context.correlation: written}), (send,)

    def _sync(
        self, context: Context, requester: Requester, request: SyncGroup, group: ClassicGroup
    ) -> StepResult[GroupCoordinator]:
        is_written = any(written.generation == group.generation for written in self._of(group))
        after, effects, is_to_be_written = assignment.sync(
            group, context, requester, request, is_written=is_written
        )
        coordinator = self._with(after)
        if not is_to_be_written:
            return coordinator, effects
        written = PendingAppend(request.group, (), after.generation)
        return coordinator._append(context, [after.entry()], written)

    def append_error(self, correlation: int, bugs: Bugs) -> ErrorCode:
        """Returns the error that rejects an offset commit when its batch is appended, or NONE.

        This check comes after the verification of the commit's transaction, as in Kafka's
        GroupCoordinatorService.commitTransactionalOffsets. The verification may already have added
        the group's partition to the transaction, even if the commit is then rejected. A member
        that was removed during the verification commits nothing.
        """
        written = self.changes.get(correlation)
        commits = () if written is None else (owed.request for owed in written.owed)
        errors = (self._commit_error(it, bugs) for it in commits if isinstance(it, CommitOffsets))
        return next(errors, ErrorCode.NONE)

    def _commit_error(self, request: CommitOffsets, bugs: Bugs) -> ErrorCode:
        return group_commits.commit_error(
            request,
            self._classic(request.group),
            self._consumer(request.group),
            bugs,
            exists=self._exists(request.group),
        )

    def _exists(self, group: str) -> bool:
        """True if the group exists: as a classic group, as a KIP-848 group, or only by its offsets.

        A group that exists only by its offsets was created by an offset commit. It counts as a
        classic group.
        """
        return (
            group in self.groups or group in self.consumers.groups or self.offsets.has_group(group)
        )

    def _commit(
        self, context: Context, requester: Requester, request: CommitOffsets
    ) -> StepResult[GroupCoordinator]:
        group = self._classic(request.group)
        is_txn = request.transactional_id is not None
        error = ErrorCode.NONE if is_txn else self._commit_error(request, context.bugs)
        too_large = group_commits.with_too_large_metadata(request)
        entries = [
            group_offsets.entry(request.group, at, kept)
            for at, kept in request.offsets
            if at not in too_large
        ]
        committed = CommittedOffsets(error=error, too_large=too_large)
        if error is not ErrorCode.NONE or not entries:
            known = self
            if error is ErrorCode.NONE and too_large:  # such a commit creates the group too
                known = replace(self, offsets=self.offsets.with_group(request.group))
            return known, (requester.reply(committed),)
        member = group.members.get(request.member_id)
        heard = None if member is None else replace(member, last_heartbeat_ms=context.now_ms)
        coordinator = self if heard is None else self._with(group.with_member(heard))
        return coordinator._append(
            context,
            entries,
            PendingAppend(request.group, (PendingResponse(requester, request, committed),)),
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            adds_partition=request.adds_partition,
            knows_abortable=request.knows_abortable,
        )

    def _described(self, request: ConsumerGroupDescribe) -> ConsumerGroupDescribed:
        group = self.consumers.groups.get(request.group)
        if group is None:
            return ConsumerGroupDescribed(error=ErrorCode.GROUP_ID_NOT_FOUND)
        return heartbeat.describe(group)

    # ------------------------------------------------------------ the log and time

    def _caught_up(self, log: PartitionLog, context: Context) -> GroupCoordinator:
        consumers = self.consumers.caught_up(log, context.bugs)
        return replace(
            self,
            offsets=self.offsets.caught_up(log, context.bugs),
            consumers=consumers,
            clocks=self.clocks
            if consumers is self.consumers
            else sessions.with_all_members(self.clocks, consumers.groups, context.now_ms),
        )

    def on_append_response(
        self, context: Context, correlation: int, answer: Produced
    ) -> StepResult[GroupCoordinator]:
        written = self.changes[correlation]
        rest = {key: value for key, value in self.changes.items() if key != correlation}
        coordinator = replace(self, changes=rest)
        error = CLIENT_ERRORS.get(answer.error, answer.error)
        effects: Effects = ()
        for owed in written.owed:
            effects += owed.answered(error)
        if written.generation is None:
            return coordinator, effects
        group = self.groups[written.group]
        group, synced = assignment.on_assignment_appended(group, context, written.generation, error)
        return coordinator._with(group), effects + synced

    def on_timer(self, context: Context, log: PartitionLog) -> StepResult[GroupCoordinator]:
        """Removes expired members, ends overdue rebalances, deletes expired offsets."""
        coordinator = self._caught_up(log, context)
        effects: Effects = ()
        entries: list[Entry] = []
        for known in self.groups.values():
            group, some = membership.without_expired_members(known, context)
            coordinator, effects = coordinator._with(group), effects + some
            if _must_be_kept(known, group, context.bugs):
                entries.append(group.entry())
        for consumer in coordinator.consumers.groups.values():
            late = sessions.expired_members(coordinator.clocks, consumer, context)
            if late:
                after = heartbeat.without_members(consumer, context, *late)
                entries += consumer_group_log.entries(consumer, after)
        coordinator, expired = coordinator._expired(context)
        entries += expired
        if entries:
            coordinator, sent = coordinator._append(context, entries, PendingAppend())
            effects += sent
        return coordinator, (*effects, self._timer(context))

    def _expired(self, context: Context) -> tuple[GroupCoordinator, list[Entry]]:
        """Returns the coordinator without its expired offsets and groups, and their tombstones.

        The coordinator checks for expiry at an interval. Until the next check is due, it stays the
        same, and there are no tombstones.
        """
        if context.now_ms < self.expiry_ms:
            return self, []
        busy = frozenset(written.group for written in self.changes.values())
        groups = {id_: group for id_, group in self.groups.items() if id_ not in busy}
        consumers = {id_: g for id_, g in self.consumers.groups.items() if id_ not in busy}
        entries = expiry.expired_offsets(self.offsets, groups, consumers, busy, context)
        tombstones, forgotten = expiry.forgotten_groups(self.offsets, groups, consumers)
        coordinator = replace(
            self,
            groups={id_: group for id_, group in self.groups.items() if id_ not in forgotten},
            offsets=self.offsets.with_groups_of_offsets(),
            expiry_ms=context.now_ms + context.timeouts.offsets_check_ms,
        )
        return coordinator, entries + tombstones

    def _timer(self, context: Context) -> SetTimer:
        timer = Timer(TimerKind.COORDINATOR, self.topic_partition)
        return SetTimer(timer, context.now_ms + context.timeouts.coordinator_ms)

    def _classic(self, group: str) -> ClassicGroup:
        return self.groups.get(group, ClassicGroup(group=group))

    def _consumer(self, group: str) -> ConsumerGroup:
        return self.consumers.groups.get(group, ConsumerGroup(group=group))

    def _of(self, group: ClassicGroup) -> list[PendingAppend]:
        return [written for written in self.changes.values() if written.group == group.group]

    def _with(self, group: ClassicGroup) -> GroupCoordinator:
        if self.groups.get(group.group) is group or (
            group.group not in self.groups and group == ClassicGroup(group=group.group)
        ):
            return self
        return replace(self, groups={**self.groups, group.group: group})


def _must_be_kept(before: ClassicGroup, after: ClassicGroup, bugs: Bugs) -> bool:
    """Returns True if this change of a classic group must be written to the log at once.

    That is the case if the last member has left, or if a new process has replaced a static member.
    After any other change the group is written together with its next assignment.
    """
    is_emptied = after.state is GroupState.EMPTY and before.state is not GroupState.EMPTY
    is_replaced = after.state is GroupState.STABLE and after.members.keys() != before.members.keys()
    return is_emptied or (is_replaced and Bug.STATIC_REPLACEMENT_NOT_KEPT not in bugs)
