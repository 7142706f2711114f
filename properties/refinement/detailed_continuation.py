"""The version `kip-360` of `transactions` takes only steps that `coordinator-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`coordinator-abstract`, is small enough to be proved. The abstract spec is used in its version
`kip-360`. In both specs, the coordinator may append a record that only repeats its last record. The
loss of the response to such an append is one detailed step, but two abstract steps: the response is
lost, and the append is committed.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: the simplifications are those of `detailed_coordinator`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from model.coordinator_abstract.continuation import Continuation as AbstractContinuation
from model.language.interpreter import State
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_coordinator import ID, Cells, Refinement
from properties.refinement.state_mapping import Step


class ContinuationRefinement(Refinement):
    @cached_property
    def abstract(self) -> AbstractContinuation:
        return AbstractContinuation(**self.bounds())

    # ---- states

    def abstraction(self, state: State) -> State:
        out: Cells = {**super().abstraction(state)}
        ready = [i for i in range(self.detailed.instances) if out["is_ready", (i,)]]
        out["newest", (ID,)] = max(ready, default=None)
        out["has_last", (ID,)] = state["has_last", ()]
        out["appends_last", (ID,)] = state["appends_last", ()]
        out["is_appending", (ID,)] = out["is_appending", (ID,)] or _is_answering(state)
        if state["has_last", ()]:
            self._keep_last(state, "transaction_state.committed.", "log.", out)
        if state["appends_last", ()]:
            self._keep_last(state, "transaction_state.appended.", "appended.", out)
        return out

    def _keep_last(self, state: State, of: str, to: str, out: Cells) -> None:
        last_id, producer_id = state[f"{of}previous_id", ()], state[f"{of}producer_id", ()]
        rotates = last_id != producer_id
        present = self.detailed.max_epoch if rotates else as_int(state[f"{of}producer_epoch", ()])
        out[f"{to}last_id", (ID,)] = last_id
        out[f"{to}last_epoch", (ID,)] = present - 1

    # ---- steps

    def _actions_of(self, step: Step) -> list[Call]:
        appended = "transaction_state.appended."
        producer_epoch = as_int(step.after[f"{appended}producer_epoch", ()])
        match step.action, step.arguments:
            case "raise_epoch" as name, (i,):
                producer_id = as_int(step.after[f"{appended}producer_id", ()])
                return [Call(name, (ID, i, producer_id, producer_epoch))]
            case "repeat_response" as name, (i,):
                return [Call(name, (ID, i))]
            case "lose_response" as name, ():
                return [Call(name, (ID,))]
            case _:
                return super()._actions_of(step)

    def _commits(self, step: Step) -> Iterator[Call]:
        """Yields the abstract action `commit_append` if the step commits an append to the log.

        If an append repeats the last record, its commit does not change the detailed log, and
        cannot be seen there. The response to this append may be lost. The mapping then places the
        commit in the step that loses the response.
        """
        yield from super()._commits(step)
        is_immediate = step.action == "raise_epoch" and not self.detailed.appends_wait()
        is_lost = step.action == "lose_response"
        if is_immediate or (is_lost and not self.abstraction(step.after)["is_appending", (ID,)]):
            yield Call("commit_append", (ID,))


def _is_answering(state: State) -> bool:
    return state["answering", ()] is not None
