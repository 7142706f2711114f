"""Anomalies of histories: observations that clients must never make, each with a simple definition.

A definition is a function from a `History` to the violations that it finds, written to be simple,
not fast. The definitions are the oracles of the fast implementations in `checkers/histories`. An
operation's number is its position in the history.
"""
