"""The controller's registration of a partition: the leader, the ISR and the ELR at each partition
epoch.

Each controller of the quorum logs one line for each change. The line has the old values, the new
values, and the new partition epoch. The first line on a change defines the registration, and all
later lines on this change must agree with it. If the old values in a line differ from the
registration, a line is missing.

Source: PartitionRegistration.diff; ReplicationControlManager.replay; KIP-966.
Simplified: two kinds of changes are not modelled: reassignments, and ELRs that the controller
clears after a configuration change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final, Self

from checkers.tracing.logged_events import Event

# the name in the line of a change -> the field; other names do not concern the spec
_CHANGED: Final = {
    "isr": "isr",
    "elr": "elr",
    "lastKnownElr": "last_known",
    "leader": "leader",
    "leaderEpoch": "leader_epoch",
    "partitionEpoch": "partition_epoch",
}
_SINCE_4_0: Final = ("elr", "last_known")  # lines of older releases lack them
REASSIGNMENT: Final = ("replicas", "addingReplicas", "removingReplicas")
NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The controller's registration of a partition. It has only the fields that the spec models."""

    isr: frozenset[int]
    elr: frozenset[int]
    last_known: frozenset[int]  # the last leader, if ISR and ELR are empty
    leader: int  # NO_LEADER if there is none
    leader_epoch: int
    partition_epoch: int

    @property
    def members(self) -> frozenset[int]:
        """The members of the ISR and of the ELR. These replicas have every committed record."""
        return self.isr | self.elr

    @classmethod
    def created(cls, event: Event) -> Self:
        absent: dict[str, object] = dict.fromkeys(_SINCE_4_0, frozenset[int]())
        known = {f.name: event.fields[f.name] for f in fields(cls) if f.name in event.fields}
        return cls(**{**absent, **known})  # type: ignore[arg-type]

    def changed(self, event: Event) -> Self:
        after = {f: event.fields[name] for name, f in _CHANGED.items() if name in event.fields}
        return replace(self, **after)  # type: ignore[arg-type]

    def disagreement(self, event: Event) -> str:
        """Returns a text on the first field whose old value in the log line differs from this
        registration.

        The text is empty if all old values agree.
        """
        for name, own in _CHANGED.items():
            before = event.fields.get(f"{name} before")
            if before is not None and before != getattr(self, own):
                return (
                    f"the change replaces {name} {_shown(before)}, the registration has "
                    f"{_shown(getattr(self, own))}"
                )
        return ""


@dataclass(frozen=True, slots=True)
class Registrations:
    """The registration of a partition at each partition epoch so far. The object is immutable."""

    current: Registration
    of_epoch: Mapping[int, Registration]

    @classmethod
    def created(cls, event: Event) -> Self:
        first = Registration.created(event)
        return cls(first, {first.partition_epoch: first})

    def with_change(self, after: Registration) -> Self:
        return replace(
            self, current=after, of_epoch={**self.of_epoch, after.partition_epoch: after}
        )

    def contradiction(self, event: Event, **shown: object) -> str:
        """Returns a text on the first difference between a log line and the registration at the
        line's partition epoch.

        `shown` has the values of the log line. The text is empty if they agree with the
        registration.
        """
        epoch = event.number("partition_epoch")
        registered = self.of_epoch.get(epoch)
        if registered is None:
            return f"the controller has not registered partition epoch {epoch}"
        for name, value in shown.items():
            if getattr(registered, name) != value:
                return (
                    f"partition epoch {epoch} was registered with {name.replace('_', ' ')} "
                    f"{_shown(getattr(registered, name))}, not {_shown(value)}"
                )
        return ""


def _shown(value: object) -> str:
    return str(sorted(value)) if isinstance(value, frozenset) else str(value)
