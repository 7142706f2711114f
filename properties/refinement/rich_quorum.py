"""The spec `quorum` takes only steps of the abstract quorum, so the abstract proof covers it.

The spec `quorum` is the detailed one. The abstract state has what the detailed state has
forgotten: the votes and the leader's log of every former epoch. So a mapping of states does not
suffice. `Refinement.calls` maps each detailed step to the abstract actions that explain it, none or
more, and these actions are taken one by one. Each must be allowed, and afterwards both states must
agree (`disagreement`). All pairs of states that are reached in this way are explored.

Abstract epochs are larger by one, because the first leader is elected in the abstract spec.
Abstract offsets are smaller by one, because its logs lack the first record.

Source: Lamport, Specifying Systems, chapter 5.8; Abadi and Lamport, The Existence of Refinement
Mappings (history variables).
Simplified: the voters do not change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from model.language.interpreter import Interpreter, State, Value
from model.language.spec import Action
from model.quorum.state import Role
from model.quorum.versions import Quorum
from model.quorum_abstract.versions import QuorumProof
from properties.refinement.behaviour import Call, as_int

LEADER: Final = Role.labels.index("LEADER")

# steps that the abstract spec does not have: pre-votes, and replicas that are cut off
WITHOUT_EFFECT: Final = frozenset({"time_out", "grant_pre_vote", "cut_off_replica"})


class Transition(NamedTuple):
    """A step of the detailed spec, with the states before and after."""

    action: str
    arguments: tuple[int, ...]
    before: State
    after: State


class Unexplained(NamedTuple):
    """A step of the detailed spec that is no step of the abstract spec, and the reason."""

    transition: Transition
    reason: str

    def __str__(self) -> str:
        named = Call(self.transition.action, self.transition.arguments)
        return f"{named}: {self.reason}"


Pair = tuple[State, State]


@dataclass
class Refinement:
    """Explores both quorum specs together, and explains each detailed step by abstract actions."""

    rich: Quorum
    taken: Counter[str] = field(default_factory=Counter[str])  # abstract actions; "none"
    pairs: int = 0

    @cached_property
    def abstract(self) -> QuorumProof:
        """The abstract quorum, with one more epoch and one offset less than the detailed one."""
        return QuorumProof(
            replicas=self.rich.replicas,
            epochs=self.rich.max_epoch + 2,
            offsets=max(self.rich.log_size, 2),
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

    # ---- the mapping

    def first_calls(self, state: State) -> list[Call]:
        """Returns the abstract steps that elect the leader with which the detailed spec begins."""
        replicas = range(self.rich.replicas)
        (leader,) = (r for r in replicas if state["member.role", (r,)] == LEADER)
        others = [r for r in replicas if r != leader]
        return [
            Call("become_candidate", (leader, 1)),
            *(Call("learn_epoch", (r, 1)) for r in others),
            *(Call("grant_vote", (r, leader, 0, 0)) for r in others),
            Call("become_leader", (leader,)),
        ]

    def calls(self, step: Transition) -> list[Call]:  # noqa: C901 - one case for each action
        """Returns the abstract actions that explain a step of the detailed spec."""
        r = step.arguments[0]
        end = end_of(step.before, r)
        match step.action, step.arguments:
            case name, _ if name in WITHOUT_EFFECT:
                return []
            case "become_candidate" as name, _:
                return [Call(name, (r, epoch_of(step.after, r)))]
            case "grant_vote" as name, (voter, candidate):
                ends = end_of(step.before, voter), end_of(step.before, candidate)
                if ends[0] == 0:
                    ends = 0, 0
                return [Call(name, (voter, candidate, *(max(x - 1, 0) for x in ends)))]
            case "become_leader" as name, _:
                return [Call(name, (r,)), Call("append", (r, end + 1))]
            case (("learn_epoch" | "leave_epoch" | "follow"), _):
                new = epoch_of(step.after, r)
                is_newer = epoch_of(step.before, r) < new
                return [Call("learn_epoch", (r, new))] if is_newer else []
            case ("resign" | "flush") as name, _:
                return [Call(name, (r,))]
            case "append" as name, _:
                return [Call(name, (r, end + 1))]
            case "truncate" as name, _:
                return [Call(name, (r, end_of(step.after, r)))]
            case "fetch" as name, _:
                return [Call(name, (r, max(end - 1, 0), end + 1))]
            case "fetch_at_end", _:
                return [Call("acknowledge", (r, max(end - 1, 0)))]
            case ("advance_high_watermark" | "restart") as name, (_, offset):
                return [Call(name, (r, offset - 1))]
            case name, _:
                raise ValueError(f"{name} has no abstract step")

    def disagreement(self, rich: State, abstract: State) -> str:
        """Returns the first difference between both states; empty if they agree."""
        for what, ours, theirs in self._compared(rich, abstract):
            if ours != theirs:
                return f"{what}: {ours} in the quorum, {theirs} in the abstract quorum"
        return ""

    def _compared(self, rich: State, abstract: State) -> Iterator[tuple[str, object, object]]:
        replicas = range(self.rich.replicas)
        for r in replicas:
            own, end = epoch_of(rich, r), end_of(rich, r)
            leads = rich["member.role", (r,)] == LEADER
            voted = {x for x in replicas if abstract["voted", (own, r, x)]}
            yield f"the epoch of c{r}", own, abstract["replica.epoch", (r,)]
            yield f"whether c{r} leads", leads, abstract["replica.is_leader", (r,)]
            yield f"the log end of c{r}", end, abstract["replica.end_offset", (r,)]
            flushed = as_int(rich["log.flushed", (r,)]) - 1
            yield f"what c{r} has flushed", flushed, abstract["replica.flushed", (r,)]
            for o in range(end):
                record = as_int(rich["log.entry.epoch", (r, o + 1)]) + 1
                yield f"record {o} of c{r}", record, abstract["replica.entry", (r, o)]
            if own > 1:
                vote = rich["member.voted", (r,)]
                yield f"the vote of c{r}", set() if vote is None else {vote}, voted
        marks = {e: as_int(abstract["led.high_watermark", (e,)]) for e in self._epochs}
        last = max(marks, key=lambda e: marks[e])
        committed = as_int(rich["committed_end", ()]) - 1
        yield "the number of committed records", committed, marks[last]
        for o in range(committed):
            record = as_int(rich["committed", (o + 1,)]) + 1
            yield f"the committed record {o}", record, abstract["led.entry", (last, o)]

    @cached_property
    def _epochs(self) -> range:
        return range(self.abstract.epochs)

    # ---- the check

    def first_unexplained(self) -> Unexplained | None:
        """Explores all pairs of states; returns the first step without an explanation, or None."""
        todo: list[Pair] = []
        seen: set[tuple[frozenset[object], frozenset[object]]] = set()

        def found(pair: Pair) -> None:
            key = frozenset(pair[0].items()), frozenset(pair[1].items())
            if key not in seen:
                seen.add(key)
                todo.append(pair)

        for rich in self._rich.initial(self.rich):
            (abstract,) = self._abstract.initial(self.abstract)
            reached = self._taken(abstract, self.first_calls(rich))
            assert not isinstance(reached, str), reached
            found((rich, reached))
        while todo:
            self.pairs += 1
            rich, abstract = todo.pop()
            for action, values, after in self._rich.steps(self.rich, rich):
                step = Transition(action.name, values, rich, after)
                calls = self.calls(step)
                reached = self._taken(abstract, calls)
                if isinstance(reached, str):
                    return Unexplained(step, reached)
                if difference := self.disagreement(after, reached):
                    return Unexplained(step, difference)
                self.taken.update(call.action for call in calls)
                self.taken["none"] += not calls
                found((after, reached))
        return None

    def _taken(self, state: State, calls: Iterable[Call]) -> State | str:
        for call in calls:
            action = self._actions[call.action]
            after = self._abstract.step(action, state, call.arguments)
            if after is None:
                guard = self._abstract.why_disabled(action, state, call.arguments)
                return f"{call} is not allowed: it needs {guard}"
            state = after
        return state


def epoch_of(state: State, replica: int) -> int:
    """Returns the epoch of a replica of the detailed spec, as an abstract epoch."""
    return as_int(state["member.epoch", (replica,)]) + 1


def end_of(state: State, replica: int) -> int:
    """Returns the log end offset of a replica of the detailed spec, as an abstract offset."""
    value: Value = state["log.end_offset", (replica,)]
    return as_int(value) - 1
