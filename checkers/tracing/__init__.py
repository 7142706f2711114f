"""Trace validation of real brokers: their TRACE logs, followed through specs of `model`.

log_lines           lines of log files, with the clock that all nodes share
logged_events       what a line says about a partition or a transactional id
replication_lines   the table of lines about partitions
transaction_lines   the table of lines about transactions
reading             the events of each subject, in the order of the clock
registrations       the controller's state of a partition, from the lines of its changes
replication         the events of a partition as actions of `replication-abstract`
partition           the position that the trace of a partition has reached
*_steps             the steps of the controller, of roles, logs, leaders and followers
losses              steps that may lose committed records, and the lost records
transactions        the events of a transactional id as actions of `transactions-abstract`
following           takes the events one by one; looks ahead for lines that came late
mutants             traces with one mutation, which must be rejected
"""
