"""Refinement: a larger system takes only steps of a small spec, so the spec's proof covers it.

    simulated reference broker  ->  replication-abstract   (`broker_replication`)
                                ->  idempotence-abstract   (`broker_idempotence`)
                                ->  transactions-abstract  (`broker_transactions`)
    detailed replication        ->  the log that the transactions spec uses  (`committed_log`)
    detailed transactions       ->  transactions-abstract  (`rich_transactions`)

A *detailed* (rich) spec is close to Kafka's code and is explored; an *abstract* spec is small
enough to be proved. Runs of the broker are validated event by event (`trace_validation`). The
states of detailed specs are mapped to states of abstract specs, and every explored transition of a
detailed spec must be mapped to actions of the abstract spec.
"""
