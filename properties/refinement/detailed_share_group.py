"""The spec `share-group` takes only steps of `share-group-abstract`.

The *detailed spec*, `share-group`, is close to Kafka's code. The *abstract spec*,
`share-group-abstract`, is small enough to be proved. In the detailed spec, a record has one of five
states, and the leader delivers records in the order of the log. The start offset moves in the step
that makes the move possible. In the abstract spec, the move is a step of its own. So the step in
which the leader learns the result of a write is two abstract steps. The acceptance and the
rejection of a record by a consumer are the same abstract action.

The abstract state contains the largest start offset that was ever stored. The detailed state of
Kafka 4.3 may have lost this offset.

Simplified: liveness is left out. In `share-group`, no record is appended to the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.language.interpreter import State
from model.share_group.state import Outcome, RecordState
from model.share_group.versions import ShareGroup
from model.share_group_abstract.versions import AbstractShareGroup
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition

FINAL: Final = {RecordState.labels.index(name) for name in ("ACKNOWLEDGED", "ARCHIVED")}
OPEN: Final = Outcome.labels.index("OPEN")
CONFIRMED: Final = Outcome.labels.index("CONFIRMED")
OF_PARTITION: Final = (
    "log_start",
    "leader_epoch",
    "is_active",
    "start",
    "stored_epoch",
    "stored_start",
)
OF_RECORD: Final = (
    "record.count",
    "record.member",
    "record.previous",
    "record.expired",
    "stored.count",
)
OF_WRITE: Final = (
    "write.sent",
    "write.leader_epoch",
    "write.start",
    "write.offset",
    "write.count",
    "write.member",
)


@dataclass
class Refinement(HistoryMapping[ShareGroup]):
    version: type[AbstractShareGroup] = AbstractShareGroup

    @cached_property
    def abstract(self) -> AbstractShareGroup:
        return self.version(
            members=self.detailed.members,
            offsets=self.detailed.records + 1,
            leader_epochs=self.detailed.max_leader_epoch + 1,
            counts=self.detailed.delivery_limit + 2,
            writes=self.detailed.writes,
        )

    # ---- the mapping

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        match step.action, step.arguments:
            case "acquire" as name, (m,):
                x = self._acquired(step)
                return [Call(name, (m, x, as_int(step.after["record.count", (x,)])))]
            case (("accept" | "reject"), (m, x)):
                return [Call("accept", (m, x, self._free_slot(step.before)))]
            case "release" as name, (m, x):
                return [Call(name, (m, x, self._free_slot(step.before)))]
            case "time_out" as name, (x,):
                return [Call(name, (x, self._free_slot(step.before)))]
            case "time_out_in_transition" as name, (x,):
                return [Call(name, (x,))]
            case ("persist" | "lose_write" | "lose_answer") as name, (w,):
                return [Call(name, (w,)), *_moved(step.after)]
            case "delete_record", ():
                return [Call("delete_records", (as_int(step.after["log_start", ()]),))]
            case ("follow_log_start" | "initialize") as name, ():
                return [Call(name), *_moved(step.after)]
            case "elect" as name, ():
                return [Call(name, (as_int(step.after["leader_epoch", ()]),))]
            case name, _:
                raise ValueError(f"{name} has no abstract action")

    def _acquired(self, step: Transition) -> int:
        """Returns the offset of the record whose delivery count this step changes."""
        key = "record.count"
        return next(x for x in self._offsets if step.before[key, (x,)] != step.after[key, (x,)])

    def _free_slot(self, before: State) -> int:
        return next(w for w in range(self.detailed.writes) if not before["write.sent", (w,)])

    @cached_property
    def _offsets(self) -> range:
        return range(self.detailed.records + 1)

    # ---- the comparison

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        yield "the limit", self.detailed.delivery_limit, abstract["limit", ()]
        for name in OF_PARTITION:
            yield name, detailed[name, ()], abstract[name, ()]
        for x in self._offsets:
            for name in OF_RECORD:
                yield f"{name} {x}", detailed[name, (x,)], abstract[name, (x,)]
            for name in ("record", "stored"):
                is_final = detailed[f"{name}.state", (x,)] in FINAL
                yield f"whether {name} {x} is final", is_final, abstract[f"{name}.is_final", (x,)]
            outcome = detailed["outcome", (x,)]
            yield f"whether {x} is decided", outcome != OPEN, abstract["decided", (x,)]
            yield f"whether {x} is confirmed", outcome == CONFIRMED, abstract["confirmed", (x,)]
            for m in range(self.detailed.members):
                is_locked = detailed["record.member", (x,)] == m
                yield f"the lock of m{m} on {x}", is_locked, abstract["holds", (m, x)]
        for w in range(self.detailed.writes):
            for name in OF_WRITE:
                yield f"{name} {w}", detailed[name, (w,)], abstract[name, (w,)]
            is_final = detailed["write.state", (w,)] in FINAL
            yield f"whether write {w} is final", is_final, abstract["write.is_final", (w,)]


def _moved(after: State) -> list[Call]:
    """Returns the action `move_start` with the leader's start offset, or [] if no leader is active.

    Returns the action even if the start offset has its old value: in the abstract spec,
    `move_start` also forgets the records below the start offset.
    """
    return [Call("move_start", (as_int(after["start", ()]),))] if after["is_active", ()] else []
