"""The base machines of the suites: judged runs, a simulated cluster, and faults of its leaders."""
