"""The version `verification` of `transactions` takes only steps that `coordinator-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`coordinator-abstract`, is small enough to be proved. The abstract spec remembers which records
arrived late, and whether any request or marker arrived late. All other variables of the abstract
spec are compared with the values that `VerifiedStates` computes. A verification in the detailed
spec is two abstract steps: the leader sends the request, and the coordinator confirms.

Source: Abadi and Lamport, The Existence of Refinement Mappings (history variables).
Simplified: the simplifications are those of `detailed_coordinator`. In addition, an append of the
coordinator fails only if the coordinator fails. With two transactions, no EndTxn request is late,
because the two specs differ after a late EndTxn. A late EndTxn opens a transaction again after its
end, and in the detailed spec this transaction keeps its old markers. In contrast to
`detailed_coordinator`, this module does not compare which markers the two specs accept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from model.coordinator_abstract.verification_claims import Verification as AbstractVerification
from model.language import action, exists, when
from model.language.interpreter import State
from model.transactions.state import Instance, Outcome, TopicPartition, Transaction
from model.transactions.versions import Transactions, Verification
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_coordinator import Cells, Refinement
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition
from properties.refinement.state_mapping import Step


class WithoutEmptyEnds(Verification):
    """The version `verification`, except that a client receives no response to EndTxn for a
    transaction without partitions. So the client never learns the end of such a transaction.

    In Kafka, the client does not learn this end either, because it sends no EndTxn for such a
    transaction.
    """

    @action(fair="weak")
    def receive_end(self, k: Transaction, i: Instance, outcome: Outcome) -> None:
        """A client receives the response to EndTxn, if the transaction has a partition."""
        when(exists(self.sent[k][p] | self.addressed[k][p] for p in TopicPartition))
        super().receive_end(k, i, outcome)


FORGOTTEN: Final = {"late", "disordered"}  # history variables of the abstract spec


class VerifiedStates(Refinement):
    """The mapping of states for transaction version 1.

    In this version, a commit or abort does not raise the producer epoch.
    """

    @cached_property
    def abstract(self) -> AbstractVerification:
        return AbstractVerification(**self.bounds())

    def abstraction(self, state: State) -> State:
        """Returns the abstract state of a detailed state, without the history variables of the
        abstract spec (`FORGOTTEN`).
        """
        out: Cells = {**super().abstraction(state)}
        for k in range(self.detailed.transactions):
            for p in range(self.detailed.partitions):
                out["guarded", (k, p)] = out["vouched", (k, p)] = state["verified", (k, p)]
        return out

    def _epoch_before(self, state: State, transaction: int, marker_epoch: int) -> int:
        """Returns the producer epoch of the transaction's records.

        The epoch of the transaction's markers is this epoch or a larger one.
        """
        return as_int(state["stamp.producer_epoch", (transaction,)])

    def _actions_of(self, step: Step) -> list[Call]:
        match step.action, step.arguments:
            case "verify", (p, k):
                return [Call("start_verification", (k, p)), Call("confirm", (k, p))]
            case "change_leader" as name, (p, _):
                return [Call(name, (p,))]
            case _:
                return super()._actions_of(step)


class VerificationRefinement(HistoryMapping[Transactions]):
    @cached_property
    def states(self) -> VerifiedStates:
        return VerifiedStates(self.detailed)

    @cached_property
    def abstract(self) -> AbstractVerification:
        return self.states.abstract

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        return self.states.calls(Step(**step._asdict()))

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        """Yields (name, value from the detailed state, value in `abstract`) for each variable of
        the abstract spec, except the history variables (`FORGOTTEN`).
        """
        expected = self.states.abstraction(detailed)
        for (name, keys), theirs in abstract.items():
            if name not in FORGOTTEN:
                yield f"{name}{list(keys)}", expected[name, keys], theirs
