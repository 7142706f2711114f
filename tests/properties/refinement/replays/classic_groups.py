"""A counterexample of a buggy classic group, replayed on the broker's group with the same bug.

The row has the spec and its variant (the spec with a seeded bug), the bug of the broker, and the
claim that the counterexample violates:

    spec and variant                bug of the broker              claim
    classic-group adds-instances    static-replaced-when-stable    one_member_of_an_instance

The harness has one group of the reference broker, and two processes that join the group. During a
rebalance, the group does not respond to JoinGroup requests. So the harness identifies a member by
its pending JoinGroup request. The claim depends only on the members, the joining processes and the
group.instance.id of each process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from model.classic_group.versions import ClassicGroup as ClassicGroupSpec
from model.language.interpreter import Cell, Value
from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.membership import join
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Requester
from reference_impl.protocol.groups import JoinGroup
from reference_impl.protocol.messages import FIRST_CLIENT, NodeId
from tests.properties.refinement.replays.replay import (
    COORDINATOR,
    Effect,
    Reading,
    Replay,
    with_bug,
)

PROCESSES: Final = (NodeId(FIRST_CLIENT), NodeId(FIRST_CLIENT + 1))  # the members of the spec
INSTANCES: Final = ("static0",)


@dataclass(slots=True, kw_only=True)
class ClassicGroupHarness:
    bugs: Bugs
    group: ClassicGroup = ClassicGroup(group="g")  # noqa: RUF009 - a frozen value
    instances: dict[int, int] = field(default_factory=dict[int, int])  # process -> static member
    joining: set[int] = field(default_factory=set[int])  # processes that sent JoinGroup

    def start(self, m: int, instance: int) -> None:
        self.instances[m] = instance

    def join(self, m: int) -> None:
        self.joining.add(m)
        request = JoinGroup(
            group=self.group.group,
            instance_id=INSTANCES[self.instances[m]],
            protocols=(("range", b""),),
        )
        member_number = len(self.joining)  # the group derives member ids from the correlation
        context = replace(COORDINATOR, correlation=member_number, bugs=self.bugs)
        self.group, _ = join(self.group, context, Requester(PROCESSES[m], 0), request)

    def is_member(self, m: int) -> bool:
        """Returns True if the group has a member with a pending JoinGroup request of process `m`.

        The group does not respond to JoinGroup during the rebalance, so the request identifies the
        member.
        """
        return any(
            member.joining is not None and member.joining.node_id == PROCESSES[m]
            for member in self.group.members.values()
        )


EFFECTS: Final[Mapping[str, Effect]] = {
    "start_static": ClassicGroupHarness.start,
    "join": ClassicGroupHarness.join,
}


def cells(harness: ClassicGroupHarness) -> Mapping[Cell, Value]:
    read: dict[Cell, Value] = {
        ("group.generation", ()): harness.group.generation,
        ("is_rebalancing", ()): harness.group.state is GroupState.PREPARING,
    }
    for m in range(len(PROCESSES)):
        read |= {
            ("group.members", (m,)): harness.is_member(m),
            ("joined", (m,)): harness.is_member(m),
            ("consumer.instance", (m,)): harness.instances.get(m),
            ("consumer.is_joining", (m,)): m in harness.joining,
        }
    return read


def _read(harness: ClassicGroupHarness) -> Reading:
    spec = ClassicGroupSpec(members=len(PROCESSES), instances=len(INSTANCES))
    return Reading(spec, cells(harness))


CLASSIC_GROUP_REPLAYS: Final = (
    Replay(
        spec="classic-group",
        variant="adds-instances",
        claim="one_member_of_an_instance",
        defect=with_bug(Bug.STATIC_REPLACED_WHEN_STABLE),
        start=lambda defect: ClassicGroupHarness(bugs=defect.bugs),
        effects=EFFECTS,
        read=_read,
    ),
)
