"""The spec `consumer-group` takes only steps of `consumer-group-abstract`, so its proof covers it.

The spec `consumer-group` is the detailed (rich) one: it has the group epoch, and what makes members
converge. `abstraction` maps each of its states to a state of the abstract spec, with one partition.
Each explored step must be one abstract action, or change nothing. In both states, the same members
must be able to send heartbeats and to commit.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: one partition, because the spec `consumer-group` has no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from model.consumer_group.state import Member
from model.consumer_group.versions import ConsumerGroup
from model.consumer_group_abstract.state import Member as AbstractMember
from model.consumer_group_abstract.state import TopicPartition
from model.consumer_group_abstract.versions import AbstractConsumerGroup
from model.language import terms as t
from model.language.expressions import wrap
from model.language.interpreter import Interpreter, State, Value
from model.language.spec import Action
from properties.refinement.behaviour import Call, as_int

PARTITION: Final = 0
RICH: Final = t.Local(Member.info, "m")
ABSTRACT: Final = t.Local(AbstractMember.info, "m")
IN: Final = t.Local(TopicPartition.info, "p")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The steps of an exploration of the rich spec.

    `explained` counts the rich steps that each abstract action explains; `none` is a rich step that
    changes no abstract variable. `unexplained` counts the other rich steps, by action.
    `disagreements` counts the states in which the specs accept different heartbeats or commits.
    """

    states: int
    explained: Counter[str]
    unexplained: Counter[str]
    disagreements: int


@dataclass(frozen=True)
class Refinement:
    """A version of `consumer-group`, and the abstract spec whose steps it should take."""

    rich: ConsumerGroup

    @cached_property
    def abstract(self) -> AbstractConsumerGroup:
        return AbstractConsumerGroup(
            members=self.rich.members, partitions=1, epochs=self.rich.epochs + 1
        )

    def walk(self) -> Walk:
        """Explores the rich spec, and explains each of its steps."""
        explained, unexplained, disagreements = Counter[str](), Counter[str](), 0
        todo = self._rich.initial(self.rich)
        (first,) = self._abstract.initial(self.abstract)
        assert [self.abstraction(state) for state in todo] == [first]
        seen = {frozenset(state.items()) for state in todo}
        while todo:
            before = todo.pop()
            disagreements += not self.accepts_the_same(before)
            for action, arguments, after in self._rich.steps(self.rich, before):
                call = self.call(action.name, arguments, after)
                if self.explains(call, before, after):
                    explained[call.action if call is not None else "none"] += 1
                else:
                    unexplained[action.name] += 1
                key = frozenset(after.items())
                if key not in seen:
                    seen.add(key)
                    todo.append(after)
        return Walk(
            states=len(seen),
            explained=explained,
            unexplained=unexplained,
            disagreements=disagreements,
        )

    # ---- the mapping

    def abstraction(self, state: State) -> State:
        """Returns the abstract state that corresponds to a state of the rich spec."""
        out: dict[tuple[str, tuple[int, ...]], Value] = {
            ("assignment_epoch", ()): state["assignment_epoch", ()],
            ("target", (PARTITION,)): state["target", ()],
            ("taken", (PARTITION,)): state["partition_epoch", ()] is not None,
        }
        for m in range(self.rich.members):
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

    def call(self, action: str, arguments: tuple[int, ...], after: State) -> Call | None:
        """Returns the abstract action of a rich step; None for a change of the group epoch only."""
        match action, arguments:
            case "change_subscription", ():
                return None
            case "compute_target" as name, (owner,):
                return Call(name, (PARTITION, owner, as_int(after["assignment_epoch", ()])))
            case "expire" as name, (m,):
                return Call(name, (m, as_int(after["assignment_epoch", ()])))
            case "revoke" as name, (m,):
                return Call(name, (m, PARTITION))
            case name, (m,):
                return Call(name, (m,))
            case name, _:
                raise ValueError(f"{name} has no abstract action")

    def explains(self, call: Call | None, before: State, after: State) -> bool:
        """True if the abstract action leads from the first abstract state to the second."""
        start = self.abstraction(before)
        if call is None:
            return start == self.abstraction(after)
        action = self._actions[call.action]
        return self._abstract.step(action, start, call.arguments) == self.abstraction(after)

    def accepts_the_same(self, rich: State) -> bool:
        """True if both specs accept the heartbeats and the commits of the same members."""
        abstract = self.abstraction(rich)
        return all(
            self._rich.holds(mine, rich, {RICH.uid: m})
            == self._abstract.holds(theirs, abstract, {ABSTRACT.uid: m, IN.uid: PARTITION})
            for m in range(self.rich.members)
            for mine, theirs in self._predicates
        )

    @cached_property
    def _predicates(self) -> tuple[tuple[t.Node, t.Node], ...]:
        m, n = wrap(Member, RICH), wrap(AbstractMember, ABSTRACT)
        return (
            (self.rich.accepts_heartbeat(m).node, self.abstract.accepts_heartbeat(n).node),
            (
                self.rich.accepts_commit(m).node,
                self.abstract.accepts_commit(n, wrap(TopicPartition, IN)).node,
            ),
        )

    @cached_property
    def _rich(self) -> Interpreter:
        return Interpreter.of(self.rich)

    @cached_property
    def _abstract(self) -> Interpreter:
        return Interpreter.of(self.abstract)

    @cached_property
    def _actions(self) -> Mapping[str, Action]:
        return {action.name: action for action in self.abstract.actions}
