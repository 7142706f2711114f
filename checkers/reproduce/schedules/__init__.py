"""The schedules of requests and faults: one file for each counterexample of a spec."""
