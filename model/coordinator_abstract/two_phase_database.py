"""The lemmas about the database of two-phase commit (KIP-939).

Only the newest instance may end a kept transaction. Its request follows the database, which has a
commit or a refusal of the transaction, and never both. So Kafka and the database agree.
"""

from __future__ import annotations

from model.coordinator_abstract.state import ProducerEpoch, ProducerId, Transaction, TransactionalId
from model.coordinator_abstract.two_phase_proof import TwoPhaseLemmas
from model.language import Bool, all_of, forall, implies, lemma, nothing


class DatabaseLemmas(TwoPhaseLemmas):
    """The lemmas about commits and refusals in the database, and about requests that follow it."""

    @lemma
    def the_database_commits_or_refuses(s) -> Bool:
        """The database has a commit or a refusal of a transaction, and never both.

        The client requests the commit only after that of the database, and does not request the
        abort then.
        """
        return forall(
            all_of(
                implies(
                    s.in_database[x],
                    all_of(s.begun[x], s.is_two_phase(x), ~s.refused[x], ~s.abort_requested[x]),
                ),
                implies(s.begun[x] & s.is_two_phase(x) & s.commit_requested[x], s.in_database[x]),
            )
            for x in Transaction
        )

    @lemma
    def requests_follow_the_database(s) -> Bool:
        """A request to end the kept transaction under the newest epoch follows the database."""
        return forall(
            implies(
                s.is_kept(s.log[i]),
                all_of(
                    implies(
                        s.commit_sent[s.log[i].producer_id][s.log[i].producer_epoch],
                        s.in_database[s.log[i].transaction],
                    ),
                    implies(
                        s.abort_sent[s.log[i].producer_id][s.log[i].producer_epoch],
                        s.refused[s.log[i].transaction],
                    ),
                ),
            )
            for i in TransactionalId
        )

    @lemma
    def no_request_is_newer_than_the_log(s) -> Bool:
        """A request to end a kept transaction has no larger epoch than the log, and an assigned
        producer id.
        """
        return forall(
            implies(
                s.commit_sent[p][e] | s.abort_sent[p][e],
                all_of(
                    s.assigned[p] != nothing,
                    forall(
                        implies(
                            s.log[i].is_known & (s.log[i].producer_id == p),
                            e <= s.log[i].producer_epoch,
                        )
                        for i in TransactionalId
                    ),
                ),
            )
            for p in ProducerId
            for e in ProducerEpoch
        )
