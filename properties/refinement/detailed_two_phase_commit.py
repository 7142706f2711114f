"""The version `kip-939` of `transactions` takes only steps that `transactions-abstract` allows.

So the proof of the abstract spec also covers two-phase commit. The abstract spec has one epoch for
each producer. While a transaction is open, the detailed coordinator may have two epochs: the epoch
of the transaction, and the epoch of a new instance. The mapping takes the epoch of the ongoing
transaction, and then the epoch of the transaction's markers until they are written. So the abstract
state stays the same when the coordinator keeps a transaction for a new instance. When the
coordinator completes the transaction, the abstract producer moves to the new instance's next epoch
(`init_producer`).

The coordinator never fails in this abstract spec. For one that fails, see
`detailed_kept_transactions`.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: as in `detailed_transactions`; the database is left out.
"""

from __future__ import annotations

from typing import Final

from model.language.interpreter import State, Value
from properties.refinement.behaviour import as_int
from properties.refinement.detailed_transactions import ONGOING, PREPARE, Refinement

STAMPS: Final = {ONGOING: "stamp", PREPARE: "marker_stamp"}  # of the open transaction


class TwoPhaseRefinement(Refinement):
    """The version `kip-939` of `transactions`, and the abstract spec that must allow its steps."""

    def _current(self, state: State) -> tuple[Value, Value]:
        """Returns the producer id and epoch of the transaction that is open or gets its markers.

        If there is no such transaction, returns the producer id and epoch in the coordinator's
        metadata.
        """
        stamp = STAMPS.get(as_int(state["metadata.state", ()]))
        if stamp is None:
            return super()._current(state)
        k = as_int(state["metadata.transaction", ()])
        return state[f"{stamp}.producer_id", (k,)], state[f"{stamp}.producer_epoch", (k,)]
