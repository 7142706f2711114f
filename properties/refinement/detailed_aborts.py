"""The version `kip-360-v1` of `transactions` takes only steps that `coordinator-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`coordinator-abstract`, is small enough to be proved. In the detailed spec, a client *continues*
after a failure when it raises its producer epoch. The abstract spec is used in its version
`kip-890-part-1`, in which no client continues. For the coordinator, a client that continues is a
new instance. So each instance of the detailed spec is two abstract instances, one before and one
after the client continues. The detailed action `raise_epoch` is the abstract action
`init_producer`.

Source: Abadi and Lamport, The Existence of Refinement Mappings (history variables).
Simplified: the simplifications are those of `detailed_verification`. In addition, no coordinator
fails. The spec loses responses only when a coordinator fails, so none is lost here. The mapping
does not compare the producer id and epoch that a client had before it continued.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from model.coordinator_abstract.verification_claims import Verification as AbstractVerification
from model.language.interpreter import State
from model.transactions.aborts import AbortAndContinue
from model.variants import Constants
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_coordinator import ID, Cells
from properties.refinement.detailed_verification import (
    VerificationRefinement,
    VerifiedStates,
    WithoutEmptyEnds,
)
from properties.refinement.history_mapping import Difference
from properties.refinement.state_mapping import Step


class AbortsWithoutEmptyEnds(AbortAndContinue, WithoutEmptyEnds):
    """The version `kip-360-v1`, except that a client receives no response to EndTxn for a
    transaction without partitions.
    """


class AbortStates(VerifiedStates):
    """The mapping of states from `transactions` to `coordinator-abstract`.

    A client of `transactions` *continues* after a failure when it raises its producer epoch
    (`raise_epoch`). The detailed instance `i` is the abstract instance `2 * i` before it continues,
    and `2 * i + 1` after it has continued.
    """

    def bounds(self) -> Constants:
        return {**super().bounds(), "instances": 2 * self.detailed.instances}

    def abstraction(self, state: State) -> State:
        out: Cells = {**super().abstraction(state)}
        for i in reversed(range(self.detailed.instances)):  # reads a cell before it is replaced
            held = {name: out[f"held.{name}", (i,)] for name in _HELD}
            is_ready, continued = out["is_ready", (i,)], state["has_continued", (i,)]
            for c, ready in ((2 * i, is_ready), (2 * i + 1, continued)):
                out["is_ready", (c,)] = ready
                out.update({(f"held.{name}", (c,)): held[name] if ready else 0 for name in _HELD})
        for k in range(self.detailed.transactions):
            if (owner := state["owner", (k,)]) is not None:
                out["client", (k,)] = self._beginner(state, k, as_int(owner))
        return out

    def _beginner(self, state: State, k: int, i: int) -> int:
        """Returns the abstract instance that began transaction `k` of the detailed instance `i`."""
        is_present = all(
            state[f"stamp.{part}", (k,)] == state[f"producer.{part}", (i,)]
            for part in ("producer_id", "producer_epoch")
        )
        return 2 * i + (bool(state["has_continued", (i,)]) and is_present)

    def _actions_of(self, step: Step) -> list[Call]:
        appended = "transaction_state.appended."
        received = tuple(
            as_int(step.after[appended + name, ()]) for name in ("next_id", "producer_epoch")
        )
        match step.action, step.arguments:
            case "init_producer", (i,):
                return [Call("init_producer", (ID, 2 * i, *received))]
            case "raise_epoch", (i,):
                return [Call("init_producer", (ID, 2 * i + 1, *received))]
            case "begin", (k, i):
                return [Call("begin", (k, self._beginner(step.after, k, i)))]
            case _:
                return super()._actions_of(step)

    def _commits(self, step: Step) -> Iterator[Call]:
        yield from super()._commits(step)
        if step.action == "raise_epoch":
            yield Call("commit_append", (ID,))


class AbortRefinement(VerificationRefinement):
    @cached_property
    def states(self) -> AbortStates:
        return AbortStates(self.detailed)

    @cached_property
    def abstract(self) -> AbstractVerification:
        return self.states.abstract

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields each variable that the detailed state determines, with its value in both states.

        The producer id and epoch of an instance that has continued are left out.
        """
        replaced = {
            f"held.{name}[{2 * i}]"
            for i in range(self.detailed.instances)
            if detailed["has_continued", (i,)]
            for name in _HELD
        }
        for difference in super().compared(detailed, abstract):
            if difference[0] not in replaced:
                yield difference


_HELD = ("transactional_id", "producer_id", "producer_epoch")
