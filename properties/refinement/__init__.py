"""Refinement: steps of a larger system are steps of a small spec, so its proof covers the system.

    simulated reference broker  ->  replication-abstract   (`broker_replication`)
                                ->  idempotence-abstract   (`broker_idempotence`)
                                ->  transactions-abstract  (`broker_transactions`)
    rich replication            ->  the log that the transactions spec uses  (`committed_log`)
    rich transactions           ->  transactions-abstract  (`rich_transactions`)

Runs of the broker are validated event by event (`trace_validation`). The states of rich specs are
mapped, and every explored transition must be abstract actions.
"""
