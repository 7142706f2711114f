"""The schedules: one file for each counterexample."""
