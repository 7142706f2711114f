"""Anomalies of histories: observations that clients must never make, each with a simple definition.

The definition of an anomaly is a function that takes a `History` and returns the violations. This
function is written to be simple, not to be fast. Tests use it as the oracle for the fast
implementation in `checkers/histories`. The number of an operation is its position in the history. A
*key* is a topic partition.
"""
