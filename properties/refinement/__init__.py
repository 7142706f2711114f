"""Refinement: a larger system takes only steps of a small spec, so the spec's proof covers it.

    simulated reference broker  ->  replication-abstract   (`broker_replication`)
                                ->  idempotence-abstract   (`broker_idempotence`)
                                ->  transactions-abstract  (`broker_transactions`)
    rich replication            ->  the log that the transactions spec uses  (`committed_log`)
    rich transactions           ->  transactions-abstract  (`rich_transactions`)

Runs of the broker are validated event by event (`trace_validation`). The states of rich specs are
mapped to states of abstract specs, and every explored transition of a rich spec must be mapped to
actions of the abstract spec.
"""
