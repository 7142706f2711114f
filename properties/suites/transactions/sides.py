"""The expected verdicts of the suite `transactions`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
"""

from __future__ import annotations

from typing import Final

from properties.claims.transactions import ALWAYS
from properties.suites.suite import Suite, inside, outside
from properties.suites.transactions.rules import TransactionsMachine
from properties.suites.transactions.settings import SETTINGS
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="transactions",
    summary="transactional producers that are replaced, die or are late, while brokers crash",
    machine=TransactionsMachine,
    inside=(
        *(
            inside(claim, "V2", SETTINGS["V2"].condition)
            for claim in ALWAYS
            if claim != "read_committed_waits"
        ),
        inside(
            "read_committed_waits", "read at the leader", SETTINGS["read at the leader"].condition
        ),
        inside(
            "read_uncommitted_sees_aborted",
            "read_uncommitted",
            "such a reader does not wait for markers",
        ),
        inside("writes_may_repeat_before_commit", "V2", "after an abort the work is repeated"),
    ),
    outside=(
        outside("atomic_commit", "V1, late ends", "a late EndTxn ends the next transaction"),
        outside("atomic_commit", "read_uncommitted", "aborted records are read"),
        outside(
            "read_committed_waits", "read_uncommitted", "records of open transactions are read"
        ),
        outside("coordinator_log_is_replicated", "one replica", "no other broker has the log"),
        outside("offsets_in_transaction", "one replica", "the committed offset is lost"),
        outside("retry_resumes", "one replica", "the coordinator forgets the newer instance"),
        outside(
            "timeout_aborts",
            "V1, not verified",
            "a late record opens a transaction without an end",
        ),
        outside("read_uncommitted_sees_aborted", "V2", "a reader at read_committed waits"),
        outside(
            "writes_may_repeat_before_commit", "read_uncommitted", "each of the writes is read"
        ),
        *(
            outside(claim, setting, because, bug)
            for claim, setting, bug, because in (
                (
                    "atomic_commit",
                    "V2",
                    Bug.ABORTED_NOT_LISTED,
                    "the fetch names no aborted transactions",
                ),
                (
                    "atomic_commit",
                    "V2",
                    Bug.LATE_MARKER_ACCEPTED,
                    "half of the next transaction is ended",
                ),
                (
                    "atomic_commit",
                    "V2",
                    Bug.MARKER_ON_ONE_PARTITION,
                    "the other partition gets no marker",
                ),
                (
                    "atomic_commit",
                    "V2",
                    Bug.DELAYED_END_ACCEPTED,
                    "a late EndTxn ends the next transaction",
                ),
                (
                    "transactional_implies_idempotent",
                    "V2",
                    Bug.NO_DEDUP,
                    "a retry is appended again",
                ),
                (
                    "read_committed_waits",
                    "read at the leader",
                    Bug.LAST_STABLE_OFFSET_READ,
                    "the first record of an open transaction is read",
                ),
                (
                    "read_committed_waits",
                    "read at the leader",
                    Bug.UNREPLICATED_MARKER_COUNTS,
                    "the marker is lost with its leader, and the end offset goes back",
                ),
                (
                    "offsets_in_transaction",
                    "V2",
                    Bug.OFFSETS_DESPITE_ABORT,
                    "aborted offsets are kept",
                ),
                (
                    "offsets_in_transaction",
                    "V2",
                    Bug.OFFSETS_LOST_AT_COMMIT,
                    "committed offsets are dropped",
                ),
                (
                    "retry_resumes",
                    "V2",
                    Bug.ZOMBIE_NOT_FENCED,
                    "both instances have the same epoch",
                ),
                (
                    "timeout_aborts",
                    "V1",
                    Bug.LATE_PRODUCE_ACCEPTED,
                    "a late record opens a transaction without an end",
                ),
                (
                    "timeout_aborts",
                    "V1",
                    Bug.GUARD_OUTLIVES_MARKER,
                    "a verified record arrives after the marker, and no marker follows",
                ),
            )
        ),
    ),
)
