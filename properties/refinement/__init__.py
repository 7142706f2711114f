"""Refinement: what is proved of a small spec is said of what is larger.

reference broker, simulated  ->  replication-abstract   (`broker_replication`)
                             ->  idempotence-abstract   (`broker_idempotence`)
                             ->  transactions-abstract  (`broker_transactions`)
rich replication             ->  the log that transactions stand on  (`committed_log`)
rich transactions            ->  transactions-abstract  (`rich_transactions`)
"""
