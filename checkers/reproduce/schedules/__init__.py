"""Fixed lists of requests and faults for real brokers, one file for each counterexample."""
