"""The claims about transactions."""

from __future__ import annotations

from typing import Final

from model.releases import LATEST, kafka
from properties.claims.claim import Claim, Decider

TRANSACTIONS: Final = (
    Claim(
        id="atomic_commit",
        group="transactions",
        statement=(
            "The outputs of a transaction to several partitions and its input offsets become "
            "visible together or not at all."
        ),
        condition=(
            "Together means in the end, not at one instant: each partition shows its part when "
            "its own marker is committed."
        ),
        broken_by="In V1 a late EndTxn ends the next transaction (KAFKA-17754).",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(
            Decider("suite", "transactions"),
            Decider("proof", "transactions-abstract.atomic"),
            Decider("proof", "transactions-abstract.faithful"),
            Decider("proof", "coordinator-abstract.faithful"),
            Decider("proof", "coordinator-abstract.a_decision_survives"),
            Decider("model", "transactions.atomic"),
            Decider("model", "transactions.no_torn_read"),
            Decider("history", "torn-transaction"),
            Decider("history", "output-without-offset"),
            Decider("history", "offset-without-output"),
        ),
    ),
    Claim(
        id="transactional_implies_idempotent",
        group="transactions",
        statement="A producer with a transactional id is idempotent.",
        broken_by="A leader appends a retried batch again.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="read_committed_waits",
        group="transactions",
        statement=(
            "A read_committed consumer receives a transactional record only after its commit "
            "marker, never an aborted record, and no record at or after the first open "
            "transaction, non-transactional records included."
        ),
        broken_by="The reader uses read_uncommitted, or the last stable offset is too high.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(
            Decider("suite", "transactions"),
            Decider("proof", "read-committed-abstract.only_committed_is_delivered"),
            Decider("proof", "read-committed-abstract.stable_offset_stops_at_open"),
            Decider("model", "transactions.no_aborted_read"),
            Decider("model", "transactions.aborted_index_is_exact"),
            Decider("history", "open-transaction-read"),
            Decider("history", "G1a"),
        ),
    ),
    Claim(
        id="read_uncommitted_sees_aborted",
        group="transactions",
        statement=(
            "The default isolation level, read_uncommitted, delivers transactional records at "
            "once, including records that are aborted later."
        ),
        broken_by="A reader at read_committed waits for the end of the transaction.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="coordinator_log_is_replicated",
        group="transactions",
        statement=(
            "The transaction coordinator's state survives the loss of a broker if "
            "`__transaction_state` has three replicas, but not if it has one."
        ),
        broken_by="The only broker with a replica of `__transaction_state` loses its disk.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="offsets_in_transaction",
        group="transactions",
        statement=(
            "Offsets that a producer sends to the group coordinator stay pending until the "
            "transaction ends; then they take effect if it commits, and vanish if it aborts."
        ),
        broken_by=(
            "The group coordinator keeps the offsets of an aborted transaction, or drops those of"
            " a committed one."
        ),
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(
            Decider("suite", "transactions"),
            Decider("history", "aborted-offset-read"),
            Decider("history", "group-offset-went-backwards"),
        ),
    ),
    Claim(
        id="retry_resumes",
        group="transactions",
        statement=(
            "A restarted service with the same transactional id finds its open transaction, which"
            " is then committed or aborted once, and the old instance is fenced."
        ),
        broken_by="A new instance receives the producer epoch of the old one.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(
            Decider("suite", "transactions"),
            Decider("proof", "coordinator-abstract.one_instance_has_an_epoch"),
            Decider("model", "transactions.zombies_write_nothing"),
            Decider("history", "zombie-write"),
            Decider("history", "fenced-transaction-read"),
        ),
    ),
    Claim(
        id="timeout_aborts",
        group="transactions",
        statement=(
            "A transaction that outlives its timeout is aborted in the transaction log and by "
            "abort markers in its partitions."
        ),
        broken_by="In V1 without verification a late record opens a transaction without an end.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(
            Decider("suite", "transactions"),
            Decider("model", "transactions.open_transactions_close"),
        ),
    ),
    Claim(
        id="writes_may_repeat_before_commit",
        group="transactions",
        statement=(
            "Records may be written several times before one commit, and only read_committed "
            "readers see them once."
        ),
        broken_by="A reader at read_uncommitted receives each of the writes.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(Decider("suite", "transactions"),),
    ),
)
