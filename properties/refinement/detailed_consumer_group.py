"""The spec `consumer-group` takes only steps that `consumer-group-abstract` allows.

The detailed spec adds the group epoch, and fair actions that make members converge. Each explored
step must be one abstract action, or change nothing. In the detailed state and in its abstract
state, the same members must be able to send heartbeats and to commit.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: one partition, because the spec `consumer-group` has no more.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from model.consumer_group.state import Member
from model.consumer_group.versions import ConsumerGroup
from model.consumer_group_abstract.state import Member as AbstractMember
from model.consumer_group_abstract.state import TopicPartition
from model.consumer_group_abstract.versions import AbstractConsumerGroup
from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import State, Value
from properties.refinement.behaviour import Call, as_int
from properties.refinement.state_mapping import Agreement, StateMapping, Step

PARTITION: Final = 0
DETAILED: Final = t.Local(Member.info, "m")
ABSTRACT: Final = t.Local(AbstractMember.info, "m")
IN: Final = t.Local(TopicPartition.info, "p")


class Refinement(StateMapping[ConsumerGroup]):
    @cached_property
    def abstract(self) -> AbstractConsumerGroup:
        return AbstractConsumerGroup(
            members=self.detailed.members, partitions=1, epochs=self.detailed.epochs + 1
        )

    def abstraction(self, state: State) -> State:
        out: dict[tuple[str, tuple[int, ...]], Value] = {
            ("assignment_epoch", ()): state["assignment_epoch", ()],
            ("target", (PARTITION,)): state["target", ()],
            ("taken", (PARTITION,)): state["partition_epoch", ()] is not None,
        }
        for m in range(self.detailed.members):
            assigned = state["member.assigned", (m,)]
            revoking = state["member.revoking", (m,)]
            since = assigned if assigned is not None else revoking
            out["joined", (m,)] = state["member.joined", (m,)]
            out["member_epoch", (m,)] = state["member.epoch", (m,)]
            out["previous_epoch", (m,)] = state["member.previous_epoch", (m,)]
            out["assigned", (m, PARTITION)] = assigned is not None
            out["revoking", (m, PARTITION)] = revoking is not None
            out["since", (m, PARTITION)] = 0 if since is None else since
            out["consumer_epoch", (m,)] = state["consumer.epoch", (m,)]
            out["answered", (m,)] = state["consumer.answered", (m,)]
            out["received", (m, PARTITION)] = state["consumer.assigned", (m,)]
            out["owns", (m, PARTITION)] = state["consumer.owns", (m,)]
        return out

    def calls(self, step: Step) -> list[Call]:
        """Returns the abstract action of a detailed step; none if only the group epoch changes."""
        epoch = as_int(step.after["assignment_epoch", ()])
        match step.action, step.arguments:
            case "change_subscription", ():
                return []
            case "compute_target" as name, (owner,):
                return [Call(name, (PARTITION, owner, epoch))]
            case "expire" as name, (m,):
                return [Call(name, (m, epoch))]
            case "revoke" as name, (m,):
                return [Call(name, (m, PARTITION))]
            case name, (m,):
                return [Call(name, (m,))]
            case name, _:
                raise ValueError(f"{name} has no abstract action")

    def agreements(self) -> list[Agreement]:
        m, n = wrap(Member, DETAILED), wrap(AbstractMember, ABSTRACT)
        p = wrap(TopicPartition, IN)
        members = [
            {DETAILED.uid: k, ABSTRACT.uid: k, IN.uid: PARTITION}
            for k in range(self.detailed.members)
        ]
        return [
            Agreement(
                detailed=self.detailed.accepts_heartbeat(m).node,
                abstract=self.abstract.accepts_heartbeat(n).node,
                of=members,
            ),
            Agreement(
                detailed=self.detailed.accepts_commit(m).node,
                abstract=self.abstract.accepts_commit(n, p).node,
                of=members,
            ),
        ]
