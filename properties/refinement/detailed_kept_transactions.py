"""The version `kip-939` of `transactions` takes only steps that `coordinator-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`coordinator-abstract`, is small enough to be proved. In both specs, an instance of the client
prepares a transaction, and a new instance sends InitProducerId with keepPreparedTxn (KIP-939). The
new instance *keeps* the prepared transaction, and ends it as the database has decided.

In its version `kip-939`, the abstract spec remembers more than the detailed state: the refusals of
the database, the requests of new instances, and which instance kept a transaction. All other
variables of the abstract spec are compared with the values that `KeptStates` computes.

When a new instance ends the kept transaction, one detailed step is two abstract steps. First, the
instance reads the database and sends its request. Then the coordinator prepares the commit or
abort. If the coordinator fails before this decision is committed, the detailed step may be
repeated, but the mapping sends no second request.

Source: Abadi and Lamport, The Existence of Refinement Mappings (history variables).
Simplified: the simplifications are those of `detailed_coordinator`. In addition, this module does
not compare whether both specs accept the same markers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from model.coordinator_abstract.two_phase_claims import TwoPhaseCommit as AbstractTwoPhaseCommit
from model.language.interpreter import State
from model.transactions.state import TransactionState
from model.transactions.versions import Transactions
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_coordinator import ID, Cells, Refinement
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition
from properties.refinement.state_mapping import Step

DEAD, EMPTY, ONGOING, PREPARE, COMPLETE = TransactionState.labels
FORGOTTEN: Final = {  # history variables of the abstract spec
    "refused",
    "commit_sent",
    "abort_sent",
    "keeper",
    "ongoing.producer_id",
    "ongoing.producer_epoch",
}


class KeptStates(Refinement):
    """Maps the states and steps of the detailed spec to the abstract spec.

    A new instance may take over a prepared transaction (InitProducerId with keepPreparedTxn). The
    abstract log record of such a transaction reserves an epoch for the markers. The mapping
    computes this epoch.
    """

    @cached_property
    def abstract(self) -> AbstractTwoPhaseCommit:
        return AbstractTwoPhaseCommit(**self.bounds())

    def abstraction(self, state: State) -> State:
        """Returns the abstract state of a detailed state. The variables in `FORGOTTEN` are missing
        in it, because the detailed state does not determine them.
        """
        out: Cells = {**super().abstraction(state), ("two_phase", (ID,)): True}
        for k in range(self.detailed.transactions):
            out["in_database", (k,)] = state["in_database", (k,)]
        for i in range(self.detailed.instances):
            out["is_keeping", (i,)] = state["kept", (i,)] is not None
        return out

    def _metadata(self, state: State, of: str, to: str, out: Cells) -> None:
        """Maps a record of the coordinator's log to variables of the abstract spec, and adds them
        to `out`. The names of the detailed variables begin with `of`, and the names of the abstract
        variables begin with `to`.

        The abstract spec also has a variable for the epoch of a transaction's markers. Its value is
        the epoch of the transaction's records plus 1.
        """
        super()._metadata(state, of, to, out)
        k = as_int(state[f"{of}transaction", ()])
        known_as = TransactionState.labels[as_int(state[f"{of}state", ()])]
        records = [state[f"stamp.producer_{part}", (k,)] for part in ("id", "epoch")]
        current = [state[f"{of}producer_{part}", ()] for part in ("id", "epoch")]
        is_kept = known_as == ONGOING and records != current
        if is_kept or known_as in {PREPARE, COMPLETE}:
            out[f"{to}marker_epoch", (ID,)] = as_int(records[1]) + 1

    def _actions_of(self, step: Step) -> list[Call]:
        appended = "transaction_state.appended."
        producer_epoch = as_int(step.after[f"{appended}producer_epoch", ()])
        next_id = as_int(step.after[f"{appended}next_id", ()])
        match step.action, step.arguments:
            case "keep_prepared" as name, (i,):
                return [Call(name, (ID, i, next_id, producer_epoch))]
            case "commit_in_database" as name, (k, _):
                return [Call(name, (k,))]
            case "complete_prepared" as name, (_, i):
                request = Call("request_completion", (i,))
                return [request, Call(name, (ID, producer_epoch, next_id))]
            case "receive_completion" as name, (_, i):
                return [Call(name, (i,))]
            case _:
                return super()._actions_of(step)

    def _commits(self, step: Step) -> Iterator[Call]:
        yield from super()._commits(step)
        appends = step.action in {"keep_prepared", "complete_prepared"}
        if appends and not self.detailed.appends_wait():
            yield Call("commit_append", (ID,))


class KeptTransactionsRefinement(HistoryMapping[Transactions]):
    @cached_property
    def states(self) -> KeptStates:
        return KeptStates(self.detailed)

    @cached_property
    def abstract(self) -> AbstractTwoPhaseCommit:
        return self.states.abstract

    def first_calls(self, state: State) -> list[Call]:
        return [Call("enable_two_phase", (ID,))]

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        calls = self.states.calls(Step(**step._asdict()))
        return [call for call in calls if not _is_sent(call, abstract)]

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields each variable of the abstract spec that the detailed state determines, with its
        value in both states.
        """
        expected = self.states.abstraction(detailed)
        for (name, keys), theirs in abstract.items():
            if name not in FORGOTTEN:
                yield f"{name}{list(keys)}", expected[name, keys], theirs


def _is_sent(call: Call, abstract: State) -> bool:
    """Returns True if the call is a request to end the prepared transaction, and the instance has
    already sent this request.
    """
    if call.action != "request_completion":
        return False
    (i,) = call.arguments
    stamp = tuple(as_int(abstract[f"held.producer_{part}", (i,)]) for part in ("id", "epoch"))
    return bool(abstract["commit_sent", stamp] or abstract["abort_sent", stamp])
