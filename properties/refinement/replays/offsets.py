"""A counterexample of group offsets that expire too soon, run on the broker with that bug.

    group-offsets expires-in-rebalance    offsets-expire-while-alive    committed_offsets_last

As in `plans`, an action of the counterexample is something done; but the stage is no cluster. It is
what a coordinator has of one group: its members, and the log of its offsets with their fold. Read
are the cells of the spec that are the coordinator's and not of a transaction; the claim is the
spec's own formula, about the last step of the plan.

Simplified: the rebalance lasts as long as offsets are kept, and the member is heard all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from model.group_offsets.versions import GroupOffsets as GroupOffsetsSpec
from model.language.interpreter import Cell, Interpreter, Value, joined
from model.vocabulary import BrokerEpoch, BrokerId, LeaderEpoch, Offset, TopicPartition
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.expiry import expired_offsets
from reference_impl.groups.membership import join
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.log import coordinator_log
from reference_impl.log.coordinator_log import Entry
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import stamped
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.protocol.groups import CommittedOffset, JoinGroup
from reference_impl.protocol.messages import FIRST_CLIENT, Produce

GROUP: Final = "g"
INPUT: Final = TopicPartition("in", 0)  # the partition that the group reads
OFFSETS: Final = TopicPartition("__consumer_offsets", 0)
MEMBER: Final = Requester(FIRST_CLIENT, 0)


@dataclass(slots=True, kw_only=True)
class Stage:
    """A group and its offsets, on which a plan is carried out."""

    bugs: Bugs
    now_ms: int = 0
    group: ClassicGroup = ClassicGroup(group=GROUP)  # noqa: RUF009 - a frozen value
    log: PartitionLog = PartitionLog()  # noqa: RUF009 - a frozen value
    offsets: GroupOffsets = GroupOffsets()  # noqa: RUF009 - a frozen value

    def reset(self, to: int) -> None:
        """An operator commits for the group."""
        self._write([group_offsets.entry(GROUP, INPUT, CommittedOffset(offset=Offset(to)))])

    def begin_rebalance(self) -> None:
        """A member joins."""
        request = JoinGroup(group=GROUP, protocols=(("range", b""),), needs_id_first=False)
        self.group, _ = join(self.group, self._context(), MEMBER, request)

    def expire(self) -> None:
        """As much time passes as offsets are kept, and the coordinator looks what is to go."""
        self.now_ms += KAFKA_TIMEOUTS.offsets_retention_ms
        groups = {GROUP: self.group}
        self._write(expired_offsets(self.offsets, groups, {}, frozenset(), self._context()))

    def _write(self, entries: list[Entry]) -> None:
        """The entries are in the log, replicated, and read."""
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
        return Context(
            now_ms=self.now_ms,
            broker_id=BrokerId(1),
            broker_epoch=BrokerEpoch(1),
            brokers={},
            correlation=0,
            timeouts=KAFKA_TIMEOUTS,
            bugs=self.bugs,
        )


DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    "init": lambda _: None,
    "reset_offset": Stage.reset,
    "begin_rebalance": Stage.begin_rebalance,
    "expire_offset": Stage.expire,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetReplay:
    """A variant of `group-offsets`, the switch of the broker, and the claim that both break."""

    variant: str
    bug: Bug
    claim: str

    def carried_out(
        self, actions: Iterable[tuple[str, tuple[Any, ...]]], *, with_bug: bool
    ) -> tuple[Stage, Stage]:
        """The stage before the last action of the plan, and after it."""
        after = Stage(bugs=frozenset({self.bug}) if with_bug else NO_BUGS)
        before = after
        for action, values in actions:
            before = replace(after)
            DEEDS[action](after, *values)
        return before, after

    def holds(self, before: Stage, after: Stage) -> bool:
        """Whether the claim is true of that step."""
        spec = GroupOffsetsSpec()
        (formula,) = (c.formula for c in spec.action_properties if c.name == self.claim)
        return Interpreter.of(spec).holds(formula, joined(cells(before), cells(after)))


def cells(stage: Stage) -> Mapping[Cell, Value]:
    """What the coordinator knows, in the words of the spec."""
    known = stage.offsets.committed.get(group_offsets.GroupPartition(GROUP, INPUT))
    is_rebalancing = stage.group.state is GroupState.PREPARING
    return {
        ("end_offset", ()): stage.log.end_offset,
        ("cache.loaded", ()): stage.offsets.read_to,
        ("cache.committed.offset", ()): None if known is None else known.committed.offset,
        ("cache.committed.at", ()): 0 if known is None else known.record_offset,
        ("group.generation", ()): stage.group.generation,
        ("group.owner", ()): None,  # the plan completes no rebalance
        ("group.is_rebalancing", ()): is_rebalancing,
    }


OFFSET_REPLAYS: Final = (
    OffsetReplay(
        variant="expires-in-rebalance",
        bug=Bug.OFFSETS_EXPIRE_WHILE_ALIVE,
        claim="committed_offsets_last",
    ),
)
