"""Counterexamples of transactions as they were, run on the broker with that bug.

As in `properties.refinement.replays.replication`, on a stage of its own. What an action lets come
late is held on its way, and the action that takes it waits for it.

    transactions-abstract lax-markers   late-marker-accepted    faithful
    transactions-abstract v1            late-produce-accepted   no_hanging_transaction
    transactions keeps-guard            guard-outlives-marker   no_hanging_transaction
    transactions verification           delayed-end-accepted    the_client_decides
    transactions forgets-failed-fence   failed-fence-counts     memory_is_the_log
    transactions unclean-election       (unclean, allowed)      no_hanging_transaction

Source: KIP-890, KIP-1228; KAFKA-9666, KAFKA-14884, KAFKA-17754.
Simplified: the end that comes late is one of version 2, under an older epoch: the bug lets it in,
as version 1 does where epochs stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from model.language.interpreter import Cell, Value
from model.transactions.state import Outcome, TransactionState
from model.transactions.versions import Version1
from model.transactions_abstract.versions import Transactions as AbstractTransactions
from properties.refinement.replays.replication import carry_out, is_true
from properties.refinement.replays.transaction_harness import PLACE, Stage
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.transactions import TransactionVersion, TxnResult
from reference_impl.transactions.metadata import COMPLETED, RESULTS

Deed = Callable[[Stage], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionReplay:
    """A variant of a spec, the switch of the broker, and what its actions are there."""

    spec: str
    variant: str
    version: TransactionVersion
    bugs: Bugs = NO_BUGS
    unclean: bool = False
    deeds: Mapping[str, tuple[Deed, ...]]  # the n-th time; later ones, and others, by themselves
    claim: str
    holds: Callable[[Stage, str], bool]

    def replayed(self, actions: Iterable[str], *, with_bug: bool) -> bool:
        """Whether the claim is true at the end of the plan that the actions make."""
        bugs = self.bugs if with_bug else NO_BUGS
        stage = Stage.of(self.version, bugs, unclean=self.unclean and with_bug)
        carry_out(actions, self.deeds, stage)
        return self.holds(stage, self.claim)


# ---------------------------------------------------------------- the claims, read on brokers


def in_abstract(stage: Stage, claim: str) -> bool:
    """A claim of abstract transactions, about decisions and what became of records.

    A marker closes all that comes before it and is open.
    """
    entries = stage.entries()
    closed = {
        (entry.transaction, next((e.marker for e in entries[at:] if e.marker), None))
        for at, entry in enumerate(entries)
    }
    cells: dict[Cell, Value] = {}
    for x, state in enumerate(stage.transactions()):
        result = RESULTS.get(state)
        cells["complete", (x,)] = state in COMPLETED.values()
        cells["committed", (x,)] = result is TxnResult.COMMIT
        cells["aborted", (x,)] = result is TxnResult.ABORT
        cells["pending", (x, 0)] = (x, None) in closed
        cells["kept", (x, 0)] = (x, TxnResult.COMMIT) in closed
        cells["dropped", (x, 0)] = (x, TxnResult.ABORT) in closed
    sorts = {"Transaction": range(stage.begun), "TopicPartition": range(1)}
    return is_true(AbstractTransactions(), claim, sorts, cells)


def in_coordinator_and_log(stage: Stage, claim: str) -> bool:
    """A claim of version 1, in the coordinator's memory, both logs, and the client's wishes."""
    entries, transactions = stage.entries(), stage.transactions()
    cells: dict[Cell, Value] = {
        ("memory.transaction", ()): len(transactions) - 1,
        ("log.end_offset", (0,)): len(entries),
    }
    for name, known in (
        ("memory", stage.memory()),
        ("state_log.committed", stage.committed()[-1]),
    ):
        label = known.state.name.partition("_")[0]
        cells[f"{name}.state", ()] = TransactionState.labels.index(label)
        cells[f"{name}.partitions", (0,)] = PLACE in known.topic_partitions
        cells[f"{name}.producer_id", ()] = known.producer_id
        cells[f"{name}.producer_epoch", ()] = known.producer_epoch
    for offset, entry in enumerate(entries):
        cells["log.record.outcome", (0, offset)] = _number(entry.marker)
        cells["log.record.producer_id", (0, offset)] = 0  # there is one
        cells["log.record.transaction", (0, offset)] = entry.transaction
    for k, state in enumerate(transactions):
        cells["decided", (k,)] = _number(RESULTS.get(state))
        cells["asked", (k,)] = _number(stage.asked.get(k))
    sorts = {
        "Transaction": range(stage.begun),
        "TopicPartition": range(1),
        "Offset": range(len(entries)),
        "Outcome": range(len(Outcome.labels)),
    }
    return is_true(Version1(), claim, sorts, cells)


def _number(result: TxnResult | None) -> int | None:
    return None if result is None else Outcome.labels.index(result.name)


# ---------------------------------------------------------------- the table

REPLAYS_OF_TRANSACTIONS: Final = (
    TransactionReplay(
        spec="transactions-abstract",
        variant="lax-markers",
        bugs=frozenset({Bug.LATE_MARKER_ACCEPTED}),
        version=TransactionVersion.V2,
        deeds={
            "init": (Stage.init_producer,),
            "begin": (Stage.begin, Stage.begin),
            "add_partition": (Stage.add_partition, Stage.add_partition),
            "end_commit": (Stage.commit_with_late_marker,),
            "write_marker": (Stage.marked, Stage.marked_again),
            "complete_transaction": (Stage.complete,),
            "append": (Stage.append,),
        },
        claim="faithful",
        holds=in_abstract,
    ),
    TransactionReplay(
        spec="transactions-abstract",
        variant="v1",
        bugs=frozenset({Bug.LATE_PRODUCE_ACCEPTED}),
        version=TransactionVersion.V1,
        deeds={
            "init": (Stage.init_producer,),
            "begin": (Stage.begin,),
            "add_partition": (Stage.add_partition,),
            "end_commit": (Stage.commit,),
            "write_marker": (Stage.marked,),
            "complete_transaction": (Stage.complete,),
            "append": (Stage.append,),
        },
        claim="no_hanging_transaction",
        holds=in_abstract,
    ),
    TransactionReplay(
        spec="transactions",
        variant="keeps-guard",
        bugs=frozenset({Bug.GUARD_OUTLIVES_MARKER}),
        version=TransactionVersion.V1,
        deeds={
            "init_producer": (Stage.init_producer,),
            "begin": (Stage.begin,),
            "add_partition": (Stage.add_partition,),
            "send": (Stage.send_with_late_verification,),
            "verify": (Stage.asked_to_verify,),
            "end": (Stage.abort,),
            "write_marker": (Stage.marked,),
            "append_record": (Stage.verified,),
            "complete": (Stage.complete,),
        },
        claim="no_hanging_transaction",
        holds=in_coordinator_and_log,
    ),
    TransactionReplay(
        spec="transactions",
        variant="verification",
        bugs=frozenset({Bug.DELAYED_END_ACCEPTED}),
        version=TransactionVersion.V2,
        deeds={
            "init_producer": (Stage.init_producer,),
            "begin": (Stage.begin, Stage.begin),
            "add_partition": (Stage.add_partition, Stage.add_partition),
            "end": (Stage.commit_with_late_copy, Stage.end_asked_again),
            "write_marker": (Stage.marked,),
            "complete": (Stage.complete,),
        },
        claim="the_client_decides",
        holds=in_coordinator_and_log,
    ),
    TransactionReplay(
        spec="transactions",
        variant="forgets-failed-fence",
        bugs=frozenset({Bug.FAILED_FENCE_COUNTS}),
        version=TransactionVersion.V1,
        deeds={
            "init_producer": (Stage.init_producer,),
            "begin": (Stage.begin,),
            "add_partition": (Stage.add_partition,),
            "fence": (Stage.fence_in_vain, Stage.fence_in_vain),
        },
        claim="memory_is_the_log",
        holds=in_coordinator_and_log,
    ),
    TransactionReplay(
        spec="transactions",
        variant="unclean-election",
        version=TransactionVersion.V2,
        unclean=True,
        deeds={
            "init_producer": (Stage.init_producer,),
            "begin": (Stage.begin,),
            "add_partition": (Stage.add_partition,),
            "append_record": (Stage.append,),
            "fence": (Stage.fence_while_one_lags,),
            "write_marker": (Stage.marked,),
            "complete": (Stage.complete,),
            "change_leader": (Stage.lose_leader,),
        },
        claim="no_hanging_transaction",
        holds=in_coordinator_and_log,
    ),
)
