"""The state of a traced partition: the state of the spec, and facts that this state does not
contain.

The modules `*_steps` map events to actions on this state. The module `replication` has the table of
all steps.

Source: `model.replication_abstract.losses`; KIP-101; KIP-497; KIP-966.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, NamedTuple, Self

from checkers.tracing.logged_events import Event
from checkers.tracing.losses import LossyStep
from checkers.tracing.outcomes import ElementNames, Outcome, Refused, done
from checkers.tracing.registrations import Registration, Registrations
from checkers.tracing.replication_lines import creates
from checkers.tracing.replication_state import ReplicationState
from model.language.rows import RowState
from model.replication_abstract.versions import WithLosses
from properties.refinement.behaviour import ANY, Behaviour, Call, Taken

MOST_FAULTS: Final = 999  # steps of one trace that may lose records
_EPOCHS: Final = frozenset({"leader_epoch", "leaderEpoch"})
_OFFSETS: Final = frozenset({"offset", "last", "mark"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that the trace shows and that the state of the spec does not contain, for example
    the registrations of the partition.
    """

    registrations: Registrations
    loaded: frozenset[int] = frozenset()  # brokers that have loaded the log at least once
    restarted: frozenset[int] = frozenset()  # loaded it again, and have no role yet
    messages: int = 0  # appended so far
    sent: Mapping[int, Mapping[int, int]] = field(  # broker -> leader epoch -> latest fetch offset
        default_factory=dict[int, Mapping[int, int]]
    )
    heard: Mapping[int, int] = field(  # the high watermark in the response that a broker handles
        default_factory=dict[int, int]
    )
    learned: Mapping[int, int] = field(  # the newest partition epoch that each broker knows
        default_factory=dict[int, int]
    )
    lossy: tuple[LossyStep, ...] = ()  # steps that may lose records


class Position(NamedTuple):
    """A position in the trace: the spec's state after the events so far, and facts that the
    state does not contain.
    """

    state: RowState
    facts: Facts
    taken: Taken | None  # the last action


@dataclass(slots=True)
class Partition:
    behaviour: Behaviour
    replicas: Mapping[int, int]  # broker id -> replica of the spec
    facts: Facts

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self | Refused:
        """Returns the partition in the state just after its creation.

        If the trace does not begin with the creation of the partition, returns a refusal.
        """
        created = next(filter(creates, events), None)
        if created is None:
            return Refused("no event creates the partition", is_outside=True)
        first = Registration.created(created)
        is_new = first.partition_epoch == first.leader_epoch == 0
        if not is_new or first.isr != created.members("replicas") or first.elr:
            return Refused(
                "the trace does not begin with the creation of the partition", is_outside=True
            )
        if first.leader not in first.isr:
            return Refused("the leader of a new partition is not in its ISR")
        replicas = {broker: k for k, broker in enumerate(sorted(created.members("replicas")))}
        sorts: dict[str, int | range] = {
            "Replica": len(replicas),
            "LeaderEpoch": _greatest(events, _EPOCHS) + 2,
            "Offset": _greatest(events, _OFFSETS) + 3,
            "Message": ANY,
            "Faults": MOST_FAULTS + 1,
        }
        leader = replicas[first.leader]
        behaviour = Behaviour.initial(_spec(), sorts, (leader, 0))
        return cls(behaviour, replicas, Facts(registrations=Registrations.created(created)))

    @property
    def elements(self) -> ElementNames:
        return {"Replica": [f"broker {broker}" for broker in self.replicas]}

    @property
    def position(self) -> Position:
        return Position(self.behaviour.state, self.facts, self.behaviour.last)

    def back_to(self, position: Position) -> None:
        self.behaviour.state, self.facts, self.behaviour.last = position

    @property
    def now(self) -> ReplicationState:
        return ReplicationState(self.behaviour.state, self.replicas)

    def note(self, **facts: Any) -> None:
        self.facts = replace(self.facts, **facts)

    def do(self, action: str, *arguments: int) -> Outcome:
        return done(self.behaviour, action, *arguments)

    def do_if_allowed(self, action: str, *arguments: int) -> None:
        self.behaviour.take(Call(action, arguments))

    def do_all(self, calls: Iterable[tuple[str, tuple[int, ...]]]) -> Outcome:
        """Performs the actions in order. Returns None, or the refusal of the first action that
        the spec does not allow.
        """
        for action, arguments in calls:
            refused = self.do(action, *arguments)
            if refused is not None:
                return refused
        return None


Handler = Callable[[Partition, Event], Outcome]


@cache
def _spec() -> WithLosses:
    return WithLosses(max_faults=MOST_FAULTS)


def _greatest(events: Sequence[Event], names: frozenset[str]) -> int:
    found = (value for event in events for name, value in event.fields.items() if name in names)
    return max((value for value in found if isinstance(value, int)), default=0)
