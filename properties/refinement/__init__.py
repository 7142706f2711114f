"""Refinement: every step of a larger system is a step of a small spec, which is proved.

So the claims that are proved for the small spec are also true of the larger system. Each row names
a larger system, a small spec that the system refines, and the module with the check:

    simulated reference broker  ->  replication-abstract   (`broker_replication`)
                                ->  idempotence-abstract   (`broker_idempotence`)
                                ->  transactions-abstract  (`broker_transactions`)
    detailed replication        ->  replication-abstract   (`detailed_replication`)
                                ->  the log that the transactions spec uses  (`committed_log`)
    detailed transactions       ->  transactions-abstract  (`detailed_transactions`,
                                                            `detailed_two_phase_commit`)
                                ->  transactions-abstract topic-ids  (`detailed_topic_ids`)
                                ->  read-committed-abstract  (`detailed_read_committed`)
                                ->  coordinator-abstract   (`detailed_coordinator`,
                                                            `detailed_continuation`,
                                                            `detailed_verification`,
                                                            `detailed_aborts`,
                                                            `detailed_kept_transactions`)
    detailed idempotence        ->  idempotence-abstract with restarts  (`detailed_idempotence`)
    detailed classic group      ->  classic-group-abstract   (`detailed_classic_group`)
    detailed consumer group     ->  consumer-group-abstract  (`detailed_consumer_group`,
                                                            `detailed_static_members`)
    detailed reassignment       ->  reassignment-abstract  (`detailed_reassignment`)
    detailed election           ->  reassignment-abstract  (`detailed_reassignment`: an election is
                                                            the spec `reassignment` without
                                                            reassignments)
    election with a controller  ->  reassignment-abstract  (`detailed_failover`)
      that fails
    election with two log       ->  reassignment-abstract  (`detailed_log_directories`)
      directories
    election with a changed     ->  reassignment-abstract changed-min-isr
      min.insync.replicas                                  (`detailed_changed_min_isr`)
    detailed group offsets      ->  pipeline-abstract      (`detailed_group_offsets`)
    detailed share group        ->  share-group-abstract   (`detailed_share_group`)
    detailed retention          ->  retention-abstract     (`detailed_retention`)
    detailed quorum             ->  quorum-abstract        (`detailed_quorum`)

A *detailed* spec is close to Kafka's code, and its states are explored. An *abstract* spec is small
enough to be proved. Runs of the reference broker are validated event by event (`trace_validation`).
A module `detailed_*` maps each explored step of a detailed spec to a list of actions of the
abstract spec. The list may be empty. The abstract spec must allow these actions. A `StateMapping`
computes the abstract state from the detailed state. A `HistoryMapping` explores both specs
together, because the abstract state contains facts about the past that the detailed state does not
contain.
"""
