"""The version `kip-939` of `transactions` takes only steps that `transactions-abstract` allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`transactions-abstract`, is small enough to be proved. The abstract spec has one current epoch for
each producer. After InitProducerId with keepPreparedTxn, the detailed coordinator has two epochs:
the epoch of the open transaction, and the epoch of the new instance. While the transaction is open,
the mapping uses the epoch of its records. While its markers are not yet written, the mapping uses
the epoch of the markers. So InitProducerId does not change the abstract state. When the transaction
is complete, the mapping uses the epoch in the coordinator's metadata. If this is the larger epoch
of a new instance, the abstract producer receives it by the action `init_producer`.

The coordinator never fails in this abstract spec. `detailed_kept_transactions` covers a coordinator
that fails.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: the simplifications are those of `detailed_transactions`. In addition, the application's
database is left out: the abstract spec has none.
"""

from __future__ import annotations

from typing import Final

from model.language.interpreter import State, Value
from properties.refinement.behaviour import as_int
from properties.refinement.detailed_transactions import ONGOING, PREPARE, Refinement

STAMPS: Final = {ONGOING: "stamp", PREPARE: "marker_stamp"}  # of the open transaction


class TwoPhaseRefinement(Refinement):
    def _current(self, state: State) -> tuple[Value, Value]:
        """Returns the producer id and epoch of the records of an open transaction, or of the
        markers of a prepared transaction.

        If no transaction is open or prepared, returns the producer id and epoch in the
        coordinator's metadata.
        """
        stamp = STAMPS.get(as_int(state["metadata.state", ()]))
        if stamp is None:
            return super()._current(state)
        k = as_int(state["metadata.transaction", ()])
        return state[f"{stamp}.producer_id", (k,)], state[f"{stamp}.producer_epoch", (k,)]
