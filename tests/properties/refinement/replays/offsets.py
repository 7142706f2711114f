"""A counterexample of group offsets that expire too soon, replayed on the coordinator's code.

This table has the spec and its variant (the spec with a seeded bug), the bug of the broker, and the
claim that the counterexample violates:

    spec and variant                      bug of the broker             claim
    group-offsets expires-in-rebalance    offsets-expire-while-alive    committed_offsets_last

The replay runs only the coordinator's code for one group: the members, the log of offsets, and the
cache built from this log. It leaves out the spec's variables of transactions. The claim compares
the states before and after a step, so the claim is evaluated on the last action of the
counterexample.

Simplified: the rebalance lasts as long as offsets are retained, and the member stays alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from model.group_offsets.versions import GroupOffsets as GroupOffsetsSpec
from model.language.interpreter import Cell, Value, joined
from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.expiry import expired_offsets
from reference_impl.groups.membership import join
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_records import Entry
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import stamped
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.protocol.groups import CommittedOffset, JoinGroup
from reference_impl.protocol.messages import FIRST_CLIENT, Produce
from tests.properties.refinement.replays.replay import (
    COORDINATOR,
    Effect,
    Reading,
    Replay,
    with_bug,
)

GROUP: Final = "g"
INPUT: Final = TopicPartition("in", 0)  # the partition that the group reads
OFFSETS: Final = TopicPartition("__consumer_offsets", 0)
MEMBER: Final = Requester(FIRST_CLIENT, 0)


@dataclass(slots=True, kw_only=True)
class OffsetHarness:
    """A consumer group at its coordinator, and the group's committed offsets."""

    bugs: Bugs
    now_ms: int = 0
    group: ClassicGroup = ClassicGroup(group=GROUP)  # noqa: RUF009 - a frozen value
    log: PartitionLog = PartitionLog()  # noqa: RUF009 - a frozen value
    offsets: GroupOffsets = GroupOffsets()  # noqa: RUF009 - a frozen value
    before: OffsetHarness | None = None  # a copy from before the last action

    def reset(self, partition: int, to: int) -> None:
        at = TopicPartition(INPUT.topic, partition)
        self._write(
            [group_offsets.entry(GROUP, at, CommittedOffset(offset=Offset(to)), self.now_ms)]
        )

    def begin_rebalance(self) -> None:
        request = JoinGroup(group=GROUP, protocols=(("range", b""),), needs_id_first=False)
        self.group, _ = join(self.group, self._context(), MEMBER, request)

    def expire(self) -> None:
        """Lets the retention time of offsets pass, and then makes the coordinator delete expired
        offsets.
        """
        self.now_ms += KAFKA_SETTINGS.offsets_retention_ms
        groups = {GROUP: self.group}
        self._write(expired_offsets(self.offsets, groups, {}, frozenset(), self._context()))

    def _write(self, entries: list[Entry]) -> None:
        if not entries:
            return
        request = coordinator_log.append(self._context(), OFFSETS, entries).request
        assert isinstance(request, Produce)
        data = stamped(
            request.batches, base_offset=self.log.end_offset, leader_epoch=LeaderEpoch(0)
        )
        log = self.log.append(Batch.of(data))
        self.log = log.with_high_watermark(log.end_offset)
        self.offsets = self.offsets.caught_up(self.log, self.bugs)

    def _context(self) -> Context:
        return replace(COORDINATOR, now_ms=self.now_ms, bugs=self.bugs)


def _with_copy(effect: Effect) -> Effect:
    def effect_with_copy(harness: OffsetHarness, *arguments: Any) -> None:
        harness.before = replace(harness, before=None)
        effect(harness, *arguments)

    return effect_with_copy


EFFECTS: Final[Mapping[str, Effect]] = {
    "reset_offset": _with_copy(OffsetHarness.reset),
    "begin_rebalance": _with_copy(OffsetHarness.begin_rebalance),
    "expire_offset": _with_copy(lambda harness, _partition: harness.expire()),
}


def cells(harness: OffsetHarness) -> Mapping[Cell, Value]:
    known = harness.offsets.committed.get(group_offsets.GroupPartition(GROUP, INPUT))
    is_rebalancing = harness.group.state is GroupState.PREPARING
    return {
        ("end_offset", ()): harness.log.end_offset,
        ("cache.loaded", ()): harness.offsets.read_to,
        ("cache.committed.offset", (0,)): None if known is None else known.committed.offset,
        ("cache.committed.at", (0,)): 0 if known is None else known.record_offset,
        ("group.generation", ()): harness.group.generation,
        ("group.owner", (0,)): None,  # the counterexample completes no rebalance
        ("group.is_rebalancing", ()): is_rebalancing,
    }


def _read_step(harness: OffsetHarness) -> Reading:
    assert harness.before is not None
    return Reading(GroupOffsetsSpec(), joined(cells(harness.before), cells(harness)))


OFFSET_REPLAYS: Final = (
    Replay(
        spec="group-offsets",
        variant="expires-in-rebalance",
        claim="committed_offsets_last",
        defect=with_bug(Bug.OFFSETS_EXPIRE_WHILE_ALIVE),
        start=lambda defect: OffsetHarness(bugs=defect.bugs),
        effects=EFFECTS,
        read=_read_step,
    ),
)
