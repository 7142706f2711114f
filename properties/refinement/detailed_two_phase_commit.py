"""The version `kip-939` of `transactions` takes only steps that `transactions-abstract` allows.

The abstract spec has one epoch for each producer. After InitProducerId with keepPreparedTxn, the
detailed coordinator has two: the epoch of the open transaction, and that of the new instance. The
mapping takes the epoch of the transaction, and then that of its markers until they are written. So
InitProducerId does not change the abstract state. When the transaction is complete, the abstract
producer moves to the new instance's next epoch (`init_producer`).

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
    def _current(self, state: State) -> tuple[Value, Value]:
        """Returns the producer id and epoch of the transaction that is open or gets its markers, or
        else those in the coordinator's metadata.
        """
        stamp = STAMPS.get(as_int(state["metadata.state", ()]))
        if stamp is None:
            return super()._current(state)
        k = as_int(state["metadata.transaction", ()])
        return state[f"{stamp}.producer_id", (k,)], state[f"{stamp}.producer_epoch", (k,)]
