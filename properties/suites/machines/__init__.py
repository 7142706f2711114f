"""Base classes for the Hypothesis state machines of the suites.

They check the claims of a suite, drive a cluster, and inject faults.
"""
