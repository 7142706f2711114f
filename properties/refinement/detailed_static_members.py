"""The version `static-members` of `consumer-group` takes only steps that the version
`static-members` of `consumer-group-abstract` allows.

The *detailed spec*, `consumer-group`, is close to Kafka's code. The *abstract spec*,
`consumer-group-abstract`, is small enough to be proved. The abstract version has no
group.instance.id, so a process that starts with a group.instance.id takes no abstract step. If a
process leaves after another process has replaced it, the abstract action is `be_fenced`.

Source: Lamport, Specifying Systems, chapter 5.8.
"""

from __future__ import annotations

from functools import cached_property

from model.consumer_group_abstract.versions import AbstractStaticMembers
from model.language.interpreter import State
from properties.refinement.behaviour import Call
from properties.refinement.detailed_consumer_group import Refinement
from properties.refinement.state_mapping import Step


class StaticMembersRefinement(Refinement):
    @cached_property
    def abstract(self) -> AbstractStaticMembers:
        return AbstractStaticMembers(
            members=self.detailed.members,
            partitions=self.detailed.partitions,
            epochs=self.detailed.epochs + 1,
        )

    def abstraction(self, state: State) -> State:
        out = {**super().abstraction(state)}
        for m in range(self.detailed.members):
            out["is_away", (m,)] = state["is_away", (m,)]
        return out

    def calls(self, step: Step) -> list[Call]:
        match step.action, step.arguments:
            case "start_static", _:
                return []
            case "leave_late", (m, _):
                return [Call("be_fenced", (m,))]
            case "come_back" as name, (m, other):
                return [Call(name, (m, other))]
            case _:
                return super().calls(step)
