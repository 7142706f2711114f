"""Maps the events of one partition of a real cluster to actions of the spec `replication-abstract`.

An event becomes actions of the spec, or it is compared with the spec's state, or both. Only
offsets, epochs and high watermarks are compared. Each line has an action or a variable of the spec,
and its use for a trace:

    fetch_request    an action, taken when the follower sends the fetch. If the leader has not begun
                     to lead at this time, the action is taken when a later event of this leader
                     needs the fetch
    drop_member      an action: the leader stops waiting for a replica that left the ISR. No log
                     line shows this action. It is taken when an advance of the high watermark
                     needs it, if the spec allows it
    isr[e]           a variable: in leader epoch e, the members of the ISR and of the ELR that the
                     controller has registered
    message          a field of a record. The trace does not show the contents of records, so they
                     are numbered in the order of the appends

The version `with-losses` of the spec also has steps that may lose records, such as an unclean
election. Two kinds of events are *outside* of the spec: a reassignment, and a follower that begins
a new log at another offset.

Source: `model.replication_abstract.actions` and `losses`; KIP-101; KIP-497; KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from checkers.tracing import (
    controller_steps,
    follower_steps,
    leader_steps,
    log_steps,
    role_steps,
)
from checkers.tracing.logged_events import Event
from checkers.tracing.losses import Loss
from checkers.tracing.outcomes import Outcome, Refused
from checkers.tracing.partition import Handler, Partition
from checkers.tracing.replication_lines import Step

SPEC: Final = "replication-abstract"
_STEPS: Final[Mapping[Step, Handler]] = {
    **controller_steps.STEPS,
    **role_steps.STEPS,
    **log_steps.STEPS,
    **leader_steps.STEPS,
    **follower_steps.STEPS,
}


class PartitionReplication(Partition):
    __slots__ = ()

    def take(self, event: Event) -> Outcome:
        before = self.position
        refused = self._unknown_broker(event) or _STEPS[Step(event.step)](self, event)
        if refused is not None:
            self.back_to(before)
        return refused

    def shown(self, event: Event) -> Iterator[str]:
        return self.now.shown(self.facts.registrations.current, event.line.node)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of committed records up to the current position, in the order of their
        leader epochs.
        """
        return tuple(self.now.losses(self.facts.lossy))

    def _unknown_broker(self, event: Event) -> Outcome:
        named = {event.line.node} if event.step not in controller_steps.STEPS else set[int]()
        named |= {event.number(n) for n in ("follower", "member") if n in event.fields}
        others = sorted(named - self.replicas.keys())
        return Refused(f"broker {others[0]} is no replica of the partition") if others else None
