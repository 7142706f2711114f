"""The spec `classic-group` takes only steps that `classic-group-abstract` allows.

The *detailed spec*, `classic-group`, is close to Kafka's code. The *abstract spec*,
`classic-group-abstract`, is small enough to be proved. In contrast to the abstract spec, the
detailed spec models error responses as messages, and has fairness conditions. Each explored step
must be at most one abstract action, with one exception: the arrival of the leader's assignment at
the coordinator is two abstract actions. In each detailed state, the coordinator must accept the
same commits as in the corresponding abstract state.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: the group has one partition, because the spec `classic-group` has only one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from model.classic_group.state import Member
from model.classic_group.versions import ClassicGroup
from model.classic_group_abstract.state import Member as AbstractMember
from model.classic_group_abstract.versions import AbstractClassicGroup
from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import State, Value
from properties.refinement.behaviour import Call, as_int
from properties.refinement.state_mapping import Agreement, StateMapping, Step

PARTITION: Final = 0
DETAILED: Final = t.Local(Member.info, "m")
ABSTRACT: Final = t.Local(AbstractMember.info, "m")


class Refinement(StateMapping[ClassicGroup]):
    @cached_property
    def abstract(self) -> AbstractClassicGroup:
        return AbstractClassicGroup(
            members=self.detailed.members,
            instances=self.detailed.instances,
            partitions=1,
            generations=self.detailed.generations + 1,
        )

    def abstraction(self, state: State) -> State:
        out: dict[tuple[str, tuple[int, ...]], Value] = {
            (name, ()): state[name, ()]
            for name in (
                "group.generation",
                "persisted.generation",
                "is_rebalancing",
                "is_assigned",
            )
        }
        for m in range(self.detailed.members):
            for group in ("group", "persisted"):
                out[f"{group}.members", (m,)] = state[f"{group}.members", (m,)]
                out[f"{group}.owners", (m, PARTITION)] = state[f"{group}.owners", (m,)]
            out["joined", (m,)] = state["joined", (m,)]
            out["instance", (m,)] = state["consumer.instance", (m,)]
            out["consumer_generation", (m,)] = state["consumer.generation", (m,)]
            out["is_joining", (m,)] = state["consumer.is_joining", (m,)]
            out["owns", (m, PARTITION)] = state["consumer.owns", (m,)]
            out["last_owned", (m, PARTITION)] = state["consumer.claims", (m,)]
            out["last_generation", (m,)] = state["consumer.claimed_in", (m,)]
        return out

    def calls(self, step: Step) -> list[Call]:
        """Returns the abstract actions that correspond to a step of the detailed spec.

        The list is empty in two cases: the coordinator refuses a request, or a member receives a
        refusal and stays in its generation.
        """
        match step.action, step.arguments:
            case "refuse", _:
                return []
            case "receive_refusal", (m,):
                generation = "consumer.generation", (m,)
                leaves = step.before[generation] != step.after[generation]
                return [Call("leave_generation", (m,))] if leaves else []
            case "assign" as name, (chosen,):
                return [Call(name, (PARTITION, chosen)), Call("persist_assignment")]
            case ("complete_join" | "become_empty") as name, ():
                return [Call(name, (as_int(step.after["group.generation", ()]),))]
            case name, arguments:
                return [Call(name, arguments)]

    def agreements(self) -> list[Agreement]:
        return [
            Agreement(
                detailed=self.detailed.accepts(wrap(Member, DETAILED)).node,
                abstract=self.abstract.accepts(wrap(AbstractMember, ABSTRACT)).node,
                of=[{DETAILED.uid: k, ABSTRACT.uid: k} for k in range(self.detailed.members)],
            )
        ]
