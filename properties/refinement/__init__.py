"""Refinement: a larger system takes only steps of a small spec, so the spec's proof covers it.

Each row has a larger system, a small spec that the system refines, and the module with the check:

    simulated reference broker  ->  replication-abstract   (`broker_replication`)
                                ->  idempotence-abstract   (`broker_idempotence`)
                                ->  transactions-abstract  (`broker_transactions`)
    detailed replication        ->  replication-abstract   (`detailed_replication`)
                                ->  the log that the transactions spec uses  (`committed_log`)
    detailed transactions       ->  transactions-abstract  (`detailed_transactions`,
                                                            `detailed_two_phase_commit`)
                                ->  read-committed-abstract  (`detailed_read_committed`)
                                ->  coordinator-abstract   (`detailed_coordinator`,
                                                            `detailed_continuation`,
                                                            `detailed_verification`,
                                                            `detailed_aborts`,
                                                            `detailed_kept_transactions`)
    detailed idempotence        ->  idempotence-abstract with restarts  (`detailed_idempotence`)
    detailed classic group      ->  classic-group-abstract   (`detailed_classic_group`)
    detailed consumer group     ->  consumer-group-abstract  (`detailed_consumer_group`)
    detailed reassignment       ->  reassignment-abstract  (`detailed_reassignment`)
    detailed election           ->  reassignment-abstract  (the same: it is the spec `reassignment`
                                                            without reassignments)
    its failing controller      ->  reassignment-abstract  (`detailed_failover`)
    detailed group offsets      ->  pipeline-abstract      (`detailed_group_offsets`)
    detailed share group        ->  share-group-abstract   (`detailed_share_group`)
    detailed quorum             ->  quorum-abstract        (`detailed_quorum`)

A *detailed* spec is close to Kafka's code and is explored; an *abstract* spec is small enough to be
proved. Runs of the broker are validated event by event (`trace_validation`). A module `detailed_*`
maps each explored step of a detailed spec to actions of the abstract spec, none or more, which the
abstract spec must allow. A `StateMapping` computes the abstract state from the detailed state. A
`HistoryMapping` explores both specs together, because the abstract state remembers what the
detailed state has forgotten.
"""
