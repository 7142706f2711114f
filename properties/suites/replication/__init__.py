"""The suite `replication`: one producer publishes to a replicated log under faults."""
