"""Trace validation of real brokers: matches the events of their TRACE logs with specs of `model`.

Each line has a module of this package, and the content of the module:

log_lines           lines of log files, with times of a clock that all nodes share
logged_events       the events that lines report about a partition or a transactional id
replication_lines   the table of lines about partitions
transaction_lines   the table of lines about transactions
reading             the events of each partition or transactional id, in time order
registrations       the controller's state of a partition, from the lines about its changes
replication         the events of a partition as actions of `replication-abstract`
idempotence         the events of a partition as actions of `idempotence-abstract`
partition           the state of the spec after the events so far, and facts that the spec lacks
*_steps             the steps of the controller, of roles, logs, leaders and followers
losses              steps that may lose committed records, and the lost records
transactions        the events of a transactional id as actions of `transactions-abstract`
explaining          a validated trace as data: each event with its actions, for `urteil explore`
following           applies the events one by one; looks ahead for events whose lines came late
"""
