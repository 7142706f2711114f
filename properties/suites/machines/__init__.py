"""Base classes for the Hypothesis state machines of the suites."""
