"""Contains trials: test runs of the property suites, in real time on a running cluster.

A property suite is a set of claims about Kafka, with a state machine that generates calls to a
cluster. A trial is a list of such calls, for example a send or the kill of a broker.
"""
