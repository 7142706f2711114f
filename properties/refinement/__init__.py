"""Refinement: a larger system takes only steps of a small spec, so the spec's proof covers it.

    simulated reference broker  ->  replication-abstract   (`broker_replication`)
                                ->  idempotence-abstract   (`broker_idempotence`)
                                ->  transactions-abstract  (`broker_transactions`)
    detailed replication        ->  the log that the transactions spec uses  (`committed_log`)
    detailed transactions       ->  transactions-abstract  (`rich_transactions`)
                                ->  read-committed-abstract  (`rich_read_committed`)
                                ->  coordinator-abstract   (`rich_coordinator`)
    detailed idempotence        ->  idempotence-abstract with restarts  (`rich_idempotence`)
    detailed classic group      ->  classic-group-abstract   (`rich_classic_group`)
    detailed consumer group     ->  consumer-group-abstract  (`rich_consumer_group`)
    detailed reassignment       ->  reassignment-abstract  (`rich_reassignment`)
    detailed quorum             ->  quorum-abstract        (`rich_quorum`)

A *detailed* spec is close to Kafka's code and is explored; an *abstract* spec is small
enough to be proved. Runs of the broker are validated event by event (`trace_validation`). For a
detailed spec, a mapping assigns a state of the abstract spec to each of its states. Every explored
transition must then be one or more actions of the abstract spec.
"""
