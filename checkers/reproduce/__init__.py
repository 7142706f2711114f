"""Shows counterexamples of specs on real brokers, by fixed lists of requests and faults."""
