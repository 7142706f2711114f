"""The lemmas about the database of two-phase commit (KIP-939).

A new instance *keeps* the ongoing transaction of an older instance: it sends InitProducerId with
keepPreparedTxn. Only the newest instance may end a kept transaction. If the database has a commit
of the transaction, the newest instance requests the commit. Otherwise it stores a refusal in the
database, and requests the abort. The database never has both a commit and a refusal of a
transaction, so Kafka and the database agree.
"""

from __future__ import annotations

from model.coordinator_abstract.state import ProducerEpoch, ProducerId, Transaction, TransactionalId
from model.coordinator_abstract.two_phase_proof import TwoPhaseLemmas
from model.language import Bool, all_of, forall, implies, lemma, nothing


class DatabaseLemmas(TwoPhaseLemmas):
    @lemma
    def the_database_commits_or_refuses(s) -> Bool:
        """The database never has both a commit and a refusal of a transaction.

        A new instance stores a refusal if it finds no commit of the transaction that it keeps
        (keepPreparedTxn). The client requests the commit only after the database has committed.
        After the database has committed, the client never requests the abort.
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
        """If a request to end a kept transaction (keepPreparedTxn) has the producer id and epoch of
        the last committed record in the coordinator's log, the request agrees with the database.

        If the request is a commit, the database has committed the transaction. If the request is an
        abort, the database has stored a refusal.
        """
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
        """A request to end a kept transaction (keepPreparedTxn) has an assigned producer id, and
        its epoch is at most the epoch that the log has for this producer id.
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
