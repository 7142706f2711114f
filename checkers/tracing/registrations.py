"""The controller's registration of a partition: leader, ISR and ELR at each partition epoch.

A controller logs a line for each change of a partition: the old values, the new values and the new
partition epoch. If the old values differ from the registration, a line is missing. Every controller
of the quorum logs the change. The first of these lines counts as the change, and the others must
agree with it.

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
    """The controller's registration of a partition, with only the fields that the spec models."""

    isr: frozenset[int]
    elr: frozenset[int]
    last_known: frozenset[int]  # the last leader, if ISR and ELR are empty
    leader: int  # NO_LEADER if there is none
    leader_epoch: int
    partition_epoch: int

    @property
    def members(self) -> frozenset[int]:
        """The ISR and the ELR: the replicas that have every committed record."""
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
        """Describes the first field whose old value in the log line differs from the registration.

        Returns an empty text if all fields agree.
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
    """The controller's state of one partition (leader, ISR and ELR) at each partition epoch so far.

    An object of this class never changes.
    """

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
        """Describes how a log line contradicts the controller's registration of the partition.

        The line is compared with the registration at the same partition epoch. Without a
        contradiction, the result is an empty text.
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
