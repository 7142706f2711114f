"""A group coordinator. It runs on the leader of a partition of `__consumer_offsets`, during one
leader epoch.

Classic groups are in memory (module `membership`). Each new assignment appends the group to the log
(module `assignment`), so a new coordinator continues with the same generation. KIP-848 groups
(module `consumer_group_log`) and offsets (module `offsets`) are computed only from the log. A group
id belongs to one protocol until the group is empty.

Source: KIP-62, KIP-98, KIP-134, KIP-345, KIP-447, KIP-848; docs/kafka-rules.md E1 to E5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl.groups import (
    assignment,
    consumer_group_log,
    expiry,
    heartbeat,
    membership,
    sessions,
)
from reference_impl.groups import commits as group_commits
from reference_impl.groups.classic_group import ClassicGroup
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.consumer_group_log import ConsumerGroups
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.groups.sessions import Clocks, MemberKey
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import CLIENT_ERRORS
from reference_impl.log.coordinator_records import GROUP, Entry
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, SetTimer, StepResult, Timer, TimerKind
from reference_impl.protocol.groups import (
    CommitOffsets,
    GroupRequest,
    JoinedGroup,
    SyncedGroup,
    refusal,
)
from reference_impl.protocol.messages import ErrorCode, Produced
from reference_impl.protocol.requests import Response


class PendingResponse(NamedTuple):
    """A response that waits until the records of a change are replicated."""

    requester: Requester
    request: GroupRequest
    response: Response

    def answered(self, error: ErrorCode = ErrorCode.NONE) -> Effects:
        return (self.requester.reply(refusal(self.request, error) if error else self.response),)


class PendingAppend(NamedTuple):
    """An append to the coordinator's log, and the responses that wait until its records are
    replicated.
    """

    group: str = ""
    owed: tuple[PendingResponse, ...] = ()
    # The group's generation if the append stores a classic group's assignment.
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinator:
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
                if key[0] != GROUP:
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
            expiry_ms=context.now_ms + context.broker_settings.offsets_check_ms,
        )
        return coordinator.caught_up(log, context), (coordinator._timer(context),)

    def resign(self) -> Effects:
        """Returns error responses to all requests that wait at this coordinator."""
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

    def once_written(
        self, context: Context, group: str, entries: list[Entry], owed: PendingResponse
    ) -> StepResult[GroupCoordinator]:
        """Appends `entries` to the log. When the entries are replicated, sends the pending response
        (`owed`).

        If `entries` is empty, the pending response is sent when the group's newest append is
        replicated. If no append of the group is in progress, the pending response is sent at once.
        """
        if entries:
            return self.append(context, entries, PendingAppend(group, (owed,)))
        last = max((n for n, known in self.changes.items() if known.group == group), default=None)
        if last is None:
            return self, owed.answered()
        written = self.changes[last]
        written = written._replace(owed=(*written.owed, owed))
        return replace(self, changes={**self.changes, last: written}), ()

    def append(
        self, context: Context, entries: list[Entry], written: PendingAppend, **transaction: Any
    ) -> StepResult[GroupCoordinator]:
        """Appends `entries` to the coordinator's log. The responses in `written` are sent when the
        entries are replicated, or when the append fails.

        `transaction` has the arguments of `coordinator_log.append` that describe a transaction.
        """
        send = coordinator_log.append(context, self.topic_partition, entries, **transaction)
        return replace(self, changes={**self.changes, context.correlation: written}), (send,)

    def append_error(self, correlation: int, bugs: Bugs) -> ErrorCode:
        """Returns NONE if an offset commit is still valid when its record batch is appended.
        Otherwise, returns the error that rejects the commit.

        The append may wait for the verification of a transaction. If the committing member is
        removed from the group in the meantime, the commit is rejected. The verification may
        nevertheless have added the group's partition to the transaction.

        Kafka: GroupCoordinatorService.commitTransactionalOffsets.
        """
        written = self.changes.get(correlation)
        commits = () if written is None else (owed.request for owed in written.owed)
        errors = (self.commit_error(it, bugs) for it in commits if isinstance(it, CommitOffsets))
        return next(errors, ErrorCode.NONE)

    def commit_error(self, request: CommitOffsets, bugs: Bugs) -> ErrorCode:
        return group_commits.commit_error(
            request,
            self.classic(request.group),
            self.consumer(request.group),
            bugs,
            exists=self.exists(request.group),
        )

    def exists(self, group: str) -> bool:
        """Returns True if the coordinator has the group. A group may consist only of committed
        offsets.
        """
        return (
            group in self.groups or group in self.consumers.groups or self.offsets.has_group(group)
        )

    # ------------------------------------------------------------ the log and time

    def caught_up(self, log: PartitionLog, context: Context) -> GroupCoordinator:
        """Returns the coordinator after it has read the new records of its log."""
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
        return coordinator.with_classic(group), effects + synced

    def on_timer(self, context: Context, log: PartitionLog) -> StepResult[GroupCoordinator]:
        """Removes expired members, ends overdue rebalances, and deletes expired offsets and
        groups.
        """
        coordinator = self.caught_up(log, context)
        effects: Effects = ()
        entries: list[Entry] = []
        for known in self.groups.values():
            group, some = membership.without_expired_members(known, context)
            coordinator, effects = coordinator.with_classic(group), effects + some
            if membership.must_be_logged(known, group, context.bugs):
                entries.append(group.entry(context.now_ms))
        for consumer in coordinator.consumers.groups.values():
            late = sessions.expired_members(coordinator.clocks, consumer, context)
            if late:
                after = heartbeat.without_members(consumer, context, *late)
                entries += consumer_group_log.entries(consumer, after)
        coordinator, expired = coordinator._expired(context)
        entries += expired
        if entries:
            coordinator, sent = coordinator.append(context, entries, PendingAppend())
            effects += sent
        return coordinator, (*effects, self._timer(context))

    def _expired(self, context: Context) -> tuple[GroupCoordinator, list[Entry]]:
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
            expiry_ms=context.now_ms + context.broker_settings.offsets_check_ms,
        )
        return coordinator, entries + tombstones

    def _timer(self, context: Context) -> SetTimer:
        timer = Timer(TimerKind.COORDINATOR, self.topic_partition)
        return SetTimer(timer, context.now_ms + context.broker_settings.coordinator_ms)

    def classic(self, group: str) -> ClassicGroup:
        """Returns the classic group with this id, or an empty group if the id is unknown."""
        return self.groups.get(group, ClassicGroup(group=group))

    def consumer(self, group: str) -> ConsumerGroup:
        """Returns the KIP-848 group with this id, or an empty group if the id is unknown."""
        return self.consumers.groups.get(group, ConsumerGroup(group=group))

    def appends_of(self, group: ClassicGroup) -> list[PendingAppend]:
        return [written for written in self.changes.values() if written.group == group.group]

    def with_classic(self, group: ClassicGroup) -> GroupCoordinator:
        if self.groups.get(group.group) is group or (
            group.group not in self.groups and group == ClassicGroup(group=group.group)
        ):
            return self
        return replace(self, groups={**self.groups, group.group: group})
