"""A counterexample of a buggy classic group, run on the broker's group with that bug.

    classic-group adds-instances    static-replaced-when-stable    one_member_of_an_instance

As in `plans`, an action of the counterexample is something done; but the stage is no cluster. It is
one group of a coordinator, and the processes that ask to join it. Which process a member is, is
told by the request that the member owes an answer to: while a rebalance is under way each owes one.
Read are the cells of the spec that say who is a member, who joins and under which instance: the
claim speaks of no others, and is the spec's own formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from model.classic_group.versions import ClassicGroup as ClassicGroupSpec
from model.language.interpreter import Cell, Interpreter, Value
from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.membership import join
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.protocol.groups import JoinGroup
from reference_impl.protocol.messages import FIRST_CLIENT, NodeId

PROCESSES: Final = (NodeId(FIRST_CLIENT), NodeId(FIRST_CLIENT + 1))  # the members of the model
INSTANCES: Final = ("static0",)


@dataclass(slots=True, kw_only=True)
class Stage:
    """A group and its processes, on which a plan is carried out."""

    bugs: Bugs
    group: ClassicGroup = ClassicGroup(group="g")  # noqa: RUF009 - a frozen value
    instances: dict[int, int] = field(default_factory=dict[int, int])  # of the processes
    asked: set[int] = field(default_factory=set[int])  # who wants to join

    def start(self, m: int, instance: int) -> None:
        """A process is started with a group.instance.id."""
        self.instances[m] = instance

    def join(self, m: int) -> None:
        """A process that is no member yet asks to join."""
        self.asked.add(m)
        request = JoinGroup(
            group=self.group.group,
            instance_id=INSTANCES[self.instances[m]],
            protocols=(("range", b""),),
        )
        context = Context(
            now_ms=0,
            broker_id=BrokerId(1),
            broker_epoch=BrokerEpoch(1),
            brokers={},
            correlation=len(self.asked),  # of which the group makes member ids
            timeouts=KAFKA_TIMEOUTS,
            bugs=self.bugs,
        )
        self.group, _ = join(self.group, context, Requester(PROCESSES[m], 0), request)

    def is_member(self, m: int) -> bool:
        """The group owes the process an answer to its request to join."""
        return any(
            member.joining is not None and member.joining.node_id == PROCESSES[m]
            for member in self.group.members.values()
        )


DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    "init": lambda _: None,
    "start_static": Stage.start,
    "join": Stage.join,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroupReplay:
    """A variant of `classic-group`, the switch of the broker, and the claim that both break."""

    variant: str
    bug: Bug
    claim: str

    def carried_out(
        self, actions: Iterable[tuple[str, tuple[Any, ...]]], *, with_bug: bool
    ) -> Stage:
        """The group at the end of the plan that the actions make."""
        stage = Stage(bugs=frozenset({self.bug}) if with_bug else NO_BUGS)
        for action, values in actions:
            DEEDS[action](stage, *values)
        return stage

    def holds(self, stage: Stage) -> bool:
        """Whether the claim is true there."""
        spec = ClassicGroupSpec(members=len(PROCESSES), instances=len(INSTANCES))
        (formula,) = (c.formula for c in spec.claims if c.name == self.claim)
        return Interpreter.of(spec).holds(formula, cells(stage))


def cells(stage: Stage) -> Mapping[Cell, Value]:
    """Who is in the group, and who asks to be, in the words of the spec."""
    read: dict[Cell, Value] = {
        ("group.generation", ()): stage.group.generation,
        ("is_rebalancing", ()): stage.group.state is GroupState.PREPARING,
    }
    for m in range(len(PROCESSES)):
        read |= {
            ("group.members", (m,)): stage.is_member(m),
            ("joined", (m,)): stage.is_member(m),
            ("consumer.instance", (m,)): stage.instances.get(m),
            ("consumer.is_joining", (m,)): m in stage.asked,
        }
    return read


CLASSIC_GROUP_REPLAYS: Final = (
    ClassicGroupReplay(
        variant="adds-instances",
        bug=Bug.STATIC_REPLACED_WHEN_STABLE,
        claim="one_member_of_an_instance",
    ),
)
