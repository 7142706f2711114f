"""The spec `consumer-group` takes only steps that `consumer-group-abstract` allows.

The *detailed spec*, `consumer-group`, is close to Kafka's code. The *abstract spec*,
`consumer-group-abstract`, is small enough to be proved. In contrast to the abstract spec, the
detailed spec has a group epoch, and fair actions that make members converge. Each explored step
must be a list of abstract actions, or change nothing in the abstract state. A consumer that leaves
is mapped to two abstract actions: the member's session expires, and the consumer is fenced. The
detailed state and its abstract state must agree on which members can send heartbeats, and which can
commit.

Source: Lamport, Specifying Systems, chapter 5.8.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from model.consumer_group.claims import ConsumerGroupClaims
from model.consumer_group.state import Member
from model.consumer_group.state import TopicPartition as DetailedPartition
from model.consumer_group_abstract.claims import AbstractConsumerGroupClaims
from model.consumer_group_abstract.state import Member as AbstractMember
from model.consumer_group_abstract.state import TopicPartition
from model.consumer_group_abstract.versions import AbstractConsumerGroup
from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import State, Value
from properties.refinement.behaviour import Call, as_int
from properties.refinement.state_mapping import Agreement, StateMapping, Step

DETAILED: Final = t.Local(Member.info, "m")
ABSTRACT: Final = t.Local(AbstractMember.info, "m")
DETAILED_PARTITION: Final = t.Local(DetailedPartition.info, "p")
ABSTRACT_PARTITION: Final = t.Local(TopicPartition.info, "p")


class Refinement(StateMapping[ConsumerGroupClaims]):
    @cached_property
    def abstract(self) -> AbstractConsumerGroupClaims:
        return AbstractConsumerGroup(
            members=self.detailed.members,
            partitions=self.detailed.partitions,
            epochs=self.detailed.epochs + 1,
        )

    def abstraction(self, state: State) -> State:
        out: dict[tuple[str, tuple[int, ...]], Value] = {
            ("assignment_epoch", ()): state["assignment_epoch", ()],
        }
        for p in self.partitions:
            out["target", (p,)] = state["target", (p,)]
            out["taken", (p,)] = state["partition_epoch", (p,)] is not None
        for m in range(self.detailed.members):
            out["joined", (m,)] = state["member.joined", (m,)]
            out["member_epoch", (m,)] = state["member.epoch", (m,)]
            out["previous_epoch", (m,)] = state["member.previous_epoch", (m,)]
            out["consumer_epoch", (m,)] = state["consumer.epoch", (m,)]
            out["answered", (m,)] = state["consumer.answered", (m,)]
            for p in self.partitions:
                assigned = state["member.assigned", (m, p)]
                revoking = state["member.revoking", (m, p)]
                since = assigned if assigned is not None else revoking
                out["assigned", (m, p)] = assigned is not None
                out["revoking", (m, p)] = revoking is not None
                out["since", (m, p)] = 0 if since is None else since
                out["received", (m, p)] = state["consumer.assigned", (m, p)]
                out["owns", (m, p)] = state["consumer.owns", (m, p)]
        return out

    def calls(self, step: Step) -> list[Call]:
        """Returns the abstract actions of a detailed step. The list is empty if only the group
        epoch changes.
        """
        epoch = as_int(step.after["assignment_epoch", ()])
        match step.action, step.arguments:
            case "change_subscription", ():
                return []
            case "compute_target" as name, (moved, owner):
                has_none = [p for p in self.partitions if step.before["target", (p,)] is None]
                return [Call(name, (p, owner, epoch)) for p in sorted({moved, *has_none})]
            case "expire" as name, (m,):
                return [Call(name, (m, epoch))]
            case "leave", (m,):
                return [Call("expire", (m, epoch)), Call("be_fenced", (m,))]
            case "revoke" as name, (m, p):
                return [Call(name, (m, p))]
            case name, (m,):
                return [Call(name, (m,))]
            case name, _:
                raise ValueError(f"{name} has no abstract action")

    @property
    def partitions(self) -> range:
        return range(self.detailed.partitions)

    def agreements(self) -> list[Agreement]:
        m, n = wrap(Member, DETAILED), wrap(AbstractMember, ABSTRACT)
        p, q = wrap(DetailedPartition, DETAILED_PARTITION), wrap(TopicPartition, ABSTRACT_PARTITION)
        members = range(self.detailed.members)
        return [
            Agreement(
                detailed=self.detailed.accepts_heartbeat(m).node,
                abstract=self.abstract.accepts_heartbeat(n).node,
                of=[{DETAILED.uid: k, ABSTRACT.uid: k} for k in members],
            ),
            Agreement(
                detailed=self.detailed.accepts_commit(m, p).node,
                abstract=self.abstract.accepts_commit(n, q).node,
                of=[
                    {
                        DETAILED.uid: k,
                        ABSTRACT.uid: k,
                        DETAILED_PARTITION.uid: i,
                        ABSTRACT_PARTITION.uid: i,
                    }
                    for k in members
                    for i in self.partitions
                ],
            ),
        ]
