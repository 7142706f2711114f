"""Counterexamples of buggy transactions, replayed on a cluster with the same bug.

Each row has the spec and its variant (the spec with a seeded bug, or an older version), the bug of
the broker, and the claim that the counterexample violates:

    spec and variant                    bug of the broker       claim
    transactions-abstract lax-markers   late-marker-accepted    faithful
    transactions-abstract v1            late-produce-accepted   no_hanging_transaction
    transactions keeps-guard            guard-outlives-marker   no_hanging_transaction
    transactions verification           delayed-end-accepted    the_client_decides
    transactions forgets-failed-fence   failed-fence-counts     metadata_is_the_log
    transactions unclean-election       none                    no_hanging_transaction

The counterexample of the last row needs no bug of the broker, but a cluster that allows unclean
elections. If a message arrives late in a counterexample, the simulated network delays this message.

Source: KIP-890, KIP-1228; KAFKA-9666, KAFKA-14884, KAFKA-17754.
Simplified: `verification` is replayed with transaction version 2, not 1 as in the counterexample.
With version 1, the epoch does not change, so every broker accepts the late EndTxn. With version 2,
the late EndTxn carries an old producer epoch, and only a broker with the bug accepts it.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from model.language.interpreter import Cell, Value
from model.transactions.state import Outcome, TransactionState
from model.transactions.versions import Version1
from model.transactions_abstract.versions import Transactions as AbstractTransactions
from reference_impl.node.bugs import Bug
from reference_impl.protocol.transactions import TransactionVersion, TxnResult
from reference_impl.transactions.metadata import COMPLETED, RESULTS
from tests.properties.refinement.replays.replay import Defect, Reading, Replay, with_bug
from tests.properties.refinement.replays.transaction_harness import WRITTEN, TransactionHarness

# The replay has no call for these actions: the broker performs them because of client requests.
BY_THEMSELVES: Final = frozenset({
    "init", "send", "verify", "receive_end", "commit_append", "fail_append",
})  # fmt: skip


def _start(defect: Defect, version: TransactionVersion) -> TransactionHarness:
    return TransactionHarness.of(version, defect.bugs, unclean=defect.unclean_election)


# ---------------------------------------------------------------- brokers read as specs


def read_abstract(harness: TransactionHarness) -> Reading:
    """Returns the cluster as a state of the spec `transactions-abstract`.

    The decision about a transaction is read from the transaction log. The outcome of a record is
    the outcome in the first marker after the record. If no marker follows, the record is pending.
    """
    entries = harness.entries()
    closed = {
        (entry.transaction, next((e.marker for e in entries[at:] if e.marker), None))
        for at, entry in enumerate(entries)
    }
    cells: dict[Cell, Value] = {}
    for x, state in enumerate(harness.transactions()):
        result = RESULTS.get(state)
        cells["complete", (x,)] = state in COMPLETED.values()
        cells["committed", (x,)] = result is TxnResult.COMMIT
        cells["aborted", (x,)] = result is TxnResult.ABORT
        cells["pending", (x, 0)] = (x, None) in closed
        cells["kept", (x, 0)] = (x, TxnResult.COMMIT) in closed
        cells["dropped", (x, 0)] = (x, TxnResult.ABORT) in closed
    sorts = {"Transaction": range(harness.begun), "TopicPartition": range(1)}
    return Reading(AbstractTransactions(), cells, sorts)


def read_coordinator_and_log(harness: TransactionHarness) -> Reading:
    """Returns the cluster as a state of the spec `transactions`, with transaction version 1."""
    entries, transactions = harness.entries(), harness.transactions()
    cells: dict[Cell, Value] = {
        ("metadata.transaction", ()): len(transactions) - 1,
        ("log.end_offset", (0,)): len(entries),
    }
    for name, metadata in (
        ("metadata", harness.memory()),
        ("transaction_state.committed", harness.committed()[-1]),
    ):
        label = metadata.state.name.partition("_")[0]
        cells[f"{name}.state", ()] = TransactionState.labels.index(label)
        cells[f"{name}.partitions", (0,)] = WRITTEN in metadata.topic_partitions
        cells[f"{name}.producer_id", ()] = metadata.producer_id
        cells[f"{name}.producer_epoch", ()] = metadata.producer_epoch
    for offset, entry in enumerate(entries):
        cells["log.record.outcome", (0, offset)] = _number(entry.marker)
        cells["log.record.producer_id", (0, offset)] = 0  # the only producer id
        cells["log.record.transaction", (0, offset)] = entry.transaction
    for k, state in enumerate(transactions):
        cells["decided", (k,)] = _number(RESULTS.get(state))
        cells["requested", (k,)] = _number(harness.requested.get(k))
    sorts = {
        "Transaction": range(harness.begun),
        "TopicPartition": range(1),
        "Offset": range(len(entries)),
        "Outcome": range(len(Outcome.labels)),
    }
    return Reading(Version1(), cells, sorts)


def _number(result: TxnResult | None) -> int | None:
    return None if result is None else Outcome.labels.index(result.name)


# ---------------------------------------------------------------- the table

_replay = partial(Replay[TransactionHarness], by_itself=BY_THEMSELVES)
TRANSACTION_REPLAYS: Final = (
    _replay(
        spec="transactions-abstract",
        variant="lax-markers",
        defect=with_bug(Bug.LATE_MARKER_ACCEPTED),
        start=partial(_start, version=TransactionVersion.V2),
        effects={
            "init": (TransactionHarness.init_producer,),
            "begin": (TransactionHarness.begin, TransactionHarness.begin),
            "add_partition": (TransactionHarness.add_partition, TransactionHarness.add_partition),
            "end_commit": (TransactionHarness.commit_with_late_marker,),
            "write_marker": (
                TransactionHarness.marker_received,
                TransactionHarness.late_marker_received,
            ),
            "complete_transaction": (TransactionHarness.complete,),
            "append": (TransactionHarness.append,),
        },
        claim="faithful",
        read=read_abstract,
    ),
    _replay(
        spec="transactions-abstract",
        variant="v1",
        defect=with_bug(Bug.LATE_PRODUCE_ACCEPTED),
        start=partial(_start, version=TransactionVersion.V1),
        effects={
            "init": (TransactionHarness.init_producer,),
            "begin": (TransactionHarness.begin,),
            "add_partition": (TransactionHarness.add_partition,),
            "end_commit": (TransactionHarness.commit,),
            "write_marker": (TransactionHarness.marker_received,),
            "complete_transaction": (TransactionHarness.complete,),
            "append": (TransactionHarness.append,),
        },
        claim="no_hanging_transaction",
        read=read_abstract,
    ),
    _replay(
        spec="transactions",
        variant="keeps-guard",
        defect=with_bug(Bug.GUARD_OUTLIVES_MARKER),
        start=partial(_start, version=TransactionVersion.V1),
        effects={
            "init_producer": (TransactionHarness.init_producer,),
            "begin": (TransactionHarness.begin,),
            "add_partition": (TransactionHarness.add_partition,),
            "send": (TransactionHarness.send_with_late_verification,),
            "verify": (TransactionHarness.verification_requested,),
            "end": (TransactionHarness.abort,),
            "write_marker": (TransactionHarness.marker_received,),
            "append_record": (TransactionHarness.verified,),
            "complete": (TransactionHarness.complete,),
        },
        claim="no_hanging_transaction",
        read=read_coordinator_and_log,
    ),
    _replay(
        spec="transactions",
        variant="verification",
        defect=with_bug(Bug.DELAYED_END_ACCEPTED),
        start=partial(_start, version=TransactionVersion.V2),
        effects={
            "init_producer": (TransactionHarness.init_producer,),
            "begin": (TransactionHarness.begin, TransactionHarness.begin),
            "add_partition": (TransactionHarness.add_partition, TransactionHarness.add_partition),
            "end": (TransactionHarness.commit_with_late_copy, TransactionHarness.late_end_received),
            "write_marker": (TransactionHarness.marker_received,),
            "complete": (TransactionHarness.complete,),
        },
        claim="the_client_decides",
        read=read_coordinator_and_log,
    ),
    _replay(
        spec="transactions",
        variant="forgets-failed-fence",
        defect=with_bug(Bug.FAILED_FENCE_COUNTS),
        start=partial(_start, version=TransactionVersion.V1),
        effects={
            "init_producer": (TransactionHarness.init_producer,),
            "begin": (TransactionHarness.begin,),
            "add_partition": (TransactionHarness.add_partition,),
            "fence": (TransactionHarness.fence_that_fails, TransactionHarness.fence_that_fails),
        },
        claim="metadata_is_the_log",
        read=read_coordinator_and_log,
    ),
    _replay(
        spec="transactions",
        variant="unclean-election",
        defect=Defect(unclean_election=True),
        start=partial(_start, version=TransactionVersion.V2),
        effects={
            "init_producer": (TransactionHarness.init_producer,),
            "begin": (TransactionHarness.begin,),
            "add_partition": (TransactionHarness.add_partition,),
            "append_record": (TransactionHarness.append,),
            "fence": (TransactionHarness.fence_while_isolated,),
            "write_marker": (TransactionHarness.marker_received,),
            "complete": (TransactionHarness.complete,),
            "change_leader": (TransactionHarness.lose_leader,),
        },
        claim="no_hanging_transaction",
        read=read_coordinator_and_log,
    ),
)
