"""The version `topic-ids` of `transactions` takes only steps that `transactions-abstract topic-ids`
allows.

The *detailed spec*, `transactions`, is close to Kafka's code. The *abstract spec*,
`transactions-abstract`, is small enough to be proved. Both specs delete topics and create them
again. A deletion removes what the partition stores, so the abstract partition still follows from
the detailed log.

Source: Lamport, Specifying Systems, chapter 5.8.
Simplified: the simplifications are those of `detailed_transactions`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from model.language.interpreter import State, Value
from model.transactions.deletion import TopicState
from model.transactions.state import TransactionState
from model.transactions_abstract.topic_ids import TopicIds
from properties.refinement.behaviour import as_int
from properties.refinement.detailed_transactions import EPOCHS, PREPARE, Refinement

COMPLETE: Final = TransactionState.labels.index("COMPLETE")
CREATED, DELETED, CREATED_AGAIN = TopicState.labels
FIRST, SECOND = range(2)  # the topic ids of a partition
TOPICS: Final = {  # the topic id, and whether the topic is deleted
    CREATED: (FIRST, False),
    DELETED: (FIRST, True),
    CREATED_AGAIN: (SECOND, False),
}


class TopicIdsRefinement(Refinement):
    @cached_property
    def abstract(self) -> TopicIds:
        return TopicIds(
            transactions=self.detailed.transactions,
            partitions=self.detailed.partitions,
            epochs=EPOCHS,
            topic_ids=2,  # FIRST and SECOND
        )

    def abstraction(self, state: State) -> State:
        out: dict[tuple[str, tuple[int, ...]], Value] = dict(super().abstraction(state))
        for p in range(self.detailed.partitions):
            out["topic_id", (p,)], out["deleted", (p,)] = _topic(state, "topic", p)
            out["known_id", (p,)], out["known_deleted", (p,)] = _topic(state, "known_topic", p)
            for k in range(self.detailed.transactions):
                out["verified", (k, p)] = state["verified", (k, p)]
                out["ended", (k, p)] = self._has_ended(state, p, k)
        return out

    def _has_ended(self, state: State, p: int, k: int) -> bool:
        """Returns True if the coordinator waits for no marker of the partition: the coordinator
        skips the partition, or appends the completion of the transaction.
        """
        if (state["metadata.transaction", ()], state["metadata.state", ()]) != (k, PREPARE):
            return False
        completes = state["transaction_state.appended.state", ()] == COMPLETE
        return bool(state["without_marker", (p,)] or (completes and state["addressed", (k, p)]))


def _topic(state: State, name: str, p: int) -> tuple[int, bool]:
    return TOPICS[TopicState.labels[as_int(state[name, (p,)])]]
