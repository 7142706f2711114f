"""Contains trials: test runs of the property suites, in real time on a running cluster.

A trial is a list of calls to the cluster, such as a send or the kill of a broker.
"""
