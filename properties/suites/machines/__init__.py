"""The base machines of the suites: for judged runs, for a simulated cluster, for leader faults."""
