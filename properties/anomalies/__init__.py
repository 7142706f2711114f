"""Anomalies of histories: observations that clients must never make, each with a simple definition.

A definition is a function from a `History` to violations, written to be simple, not fast: it is the
oracle of the fast implementation in `checkers/histories`. An operation's number is its position in
the history. A *key* is a topic partition.
"""
