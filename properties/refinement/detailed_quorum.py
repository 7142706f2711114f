"""The spec `quorum` takes only steps that `quorum-abstract` allows.

The *detailed spec*, `quorum`, is close to Kafka's code. The *abstract spec*, `quorum-abstract`, is
small enough to be proved. The abstract state contains the votes and the leader's log of every
former epoch, which the detailed state does not contain.

The detailed spec begins with a leader in epoch 0. The abstract spec first elects this leader, in
epoch 1. So an abstract epoch is the detailed epoch plus one. A detailed log begins with a record
that names the voters. An abstract log has no such record. So an abstract offset is the detailed
offset minus one.

Simplified: the voters do not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from model.language.interpreter import State, Value
from model.quorum.state import Role
from model.quorum.versions import Quorum
from model.quorum_abstract.versions import QuorumProof
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition

LEADER: Final = Role.labels.index("LEADER")

# actions that change nothing in the abstract spec: pre-votes, and replicas that are cut off
WITHOUT_EFFECT: Final = frozenset({"time_out", "grant_pre_vote", "cut_off_replica"})


class Refinement(HistoryMapping[Quorum]):
    @cached_property
    def abstract(self) -> QuorumProof:
        """The abstract spec. It has one epoch more than the detailed spec, and one offset fewer.
        The module's docstring explains why. The constant `offsets` must be at least 2.
        """
        return QuorumProof(
            replicas=self.detailed.replicas,
            epochs=self.detailed.max_epoch + 2,
            offsets=max(self.detailed.log_size, 2),
        )

    # ---- the mapping

    def first_calls(self, state: State) -> list[Call]:
        """Returns the abstract actions that elect the initial leader of the detailed spec."""
        replicas = range(self.detailed.replicas)
        (leader,) = (r for r in replicas if state["member.role", (r,)] == LEADER)
        others = [r for r in replicas if r != leader]
        return [
            Call("become_candidate", (leader, 1)),
            *(Call("learn_epoch", (r, 1)) for r in others),
            *(Call("grant_vote", (r, leader, 0, 0)) for r in others),
            Call("become_leader", (leader,)),
        ]

    def calls(  # noqa: C901 - one case for each action
        self, step: Transition, abstract: State
    ) -> list[Call]:
        r = step.arguments[0]
        end = end_of(step.before, r)
        match step.action, step.arguments:
            case name, _ if name in WITHOUT_EFFECT:
                return []
            case "become_candidate" as name, _:
                return [Call(name, (r, epoch_of(step.after, r)))]
            case "grant_vote" as name, (voter, candidate):
                ends = end_of(step.before, voter), end_of(step.before, candidate)
                last = [x - 1 for x in ends] if ends[0] else [0, 0]
                return [Call(name, (voter, candidate, *last))]
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

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        replicas = range(self.detailed.replicas)
        for r in replicas:
            own, end = epoch_of(detailed, r), end_of(detailed, r)
            leads = detailed["member.role", (r,)] == LEADER
            voted = {x for x in replicas if abstract["voted", (own, r, x)]}
            yield f"the epoch of c{r}", own, abstract["replica.epoch", (r,)]
            yield f"whether c{r} leads", leads, abstract["replica.is_leader", (r,)]
            yield f"the log end of c{r}", end, abstract["replica.end_offset", (r,)]
            flushed = as_int(detailed["log.flushed", (r,)]) - 1
            yield f"what c{r} has flushed", flushed, abstract["replica.flushed", (r,)]
            for o in range(end):
                record = as_int(detailed["log.entry.epoch", (r, o + 1)]) + 1
                yield f"record {o} of c{r}", record, abstract["replica.entry", (r, o)]
            if own > 1:
                vote = detailed["member.voted", (r,)]
                yield f"the vote of c{r}", set() if vote is None else {vote}, voted
        marks = {e: as_int(abstract["led.high_watermark", (e,)]) for e in self._epochs}
        last = max(marks, key=lambda e: marks[e])
        committed = as_int(detailed["committed_end", ()]) - 1
        yield "the number of committed records", committed, marks[last]
        for o in range(committed):
            record = as_int(detailed["committed", (o + 1,)]) + 1
            yield f"the committed record {o}", record, abstract["led.entry", (last, o)]

    @cached_property
    def _epochs(self) -> range:
        return range(self.abstract.epochs)


def epoch_of(state: State, replica: int) -> int:
    """Returns the epoch of a replica in a detailed state, as the abstract spec numbers it."""
    return as_int(state["member.epoch", (replica,)]) + 1


def end_of(state: State, replica: int) -> int:
    """Returns the log end offset of a replica in a detailed state, as the abstract spec numbers
    it.
    """
    value: Value = state["log.end_offset", (replica,)]
    return as_int(value) - 1
