"""The version `changed-min-isr` of `election` takes only steps of `reassignment-abstract`.

The *detailed spec*, `election`, is close to Kafka's code. The *abstract spec* is the version
`changed-min-isr` of `reassignment-abstract`, which is small enough to be proved. In both specs, the
controller uses a new min.insync.replicas at once, and a leader learns it with the metadata or with
the response to its AlterPartition request. In the detailed spec, the controller responds in the
step in which it accepts a request. In the abstract spec, the response is a step of its own.

Simplified: the simplifications are those of `detailed_reassignment`. In addition, no replica is
added or removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from model.election.changed_min_isr import ChangedMinIsr
from model.election.state import Replica
from model.language import Bool
from model.language.interpreter import State
from model.reassignment.versions import ElrOfReplicas
from model.reassignment_abstract.changed_min_isr import ChangedMinIsr as AbstractChangedMinIsr
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Difference, Transition


class ReplicasWithChangedMinIsr(ChangedMinIsr, ElrOfReplicas):
    """The spec `reassignment` with the rules of the version `changed-min-isr` of `election`. It is
    explored with constants that allow no reassignment.
    """

    def may_commit(self, leader: Replica) -> Bool:
        return self.is_enough_for_leader(leader)


class ChangedMinIsrRefinement(Refinement):
    @cached_property
    def abstract(self) -> AbstractChangedMinIsr:
        return AbstractChangedMinIsr(**self.constants())

    def constants(self) -> dict[str, int]:
        constants, detailed = super().constants(), self.detailed
        assert isinstance(detailed, ReplicasWithChangedMinIsr)
        return {
            **constants,
            "min_isr": max(detailed.min_isr, detailed.other_min_isr),
            "disturbances": constants["disturbances"] + detailed.max_changes,
        }

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        match step.action, step.arguments:
            case "change_min_isr" as name, _:
                number = as_int(abstract["last_disturbance", ()]) + 1
                return [Call(name, (as_int(step.after["minimum", ()]), number))]
            case "grant_isr", _:
                return [*super().calls(step, abstract), Call("respond")]
            case "take_answer", (leader,):
                return [Call("receive_response", (leader,))]
            case "learn_min_isr" as name, (leader,):
                return [Call(name, (leader,))]
            case _:
                return super().calls(step, abstract)

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        newest = as_int(abstract["newest", ()])
        yield "min.insync.replicas", detailed["minimum", ()], abstract["minimum", (newest,)]
        yield from super().compared(detailed, abstract)

    def _known_by(
        self, detailed: State, abstract: State, r: int, epoch: int
    ) -> Iterator[Difference]:
        known = detailed["known_minimum", (r,)]
        yield f"the min.insync.replicas that b{r} knows", known, abstract["known_minimum", (epoch,)]
        answered = as_int(detailed["answer", (r,)])
        is_sent = abstract["response.is_sent", (epoch,)]
        yield f"whether a response to b{r} is in flight", answered > 0, is_sent
        if is_sent:
            answer = abstract["response.minimum", (epoch,)]
            yield f"the min.insync.replicas in the response to b{r}", answered, answer
            isr = self._members(detailed, "broker.proposed", r)
            theirs = self._set(abstract, "response.isr", epoch)
            yield f"the ISR in the response to b{r}", isr, theirs
        yield from super()._known_by(detailed, abstract, r, epoch)
