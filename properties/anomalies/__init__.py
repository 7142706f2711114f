"""Anomalies of histories: observations that clients must never make, with literal definitions.

These definitions are the oracles of the fast implementations in `checkers/histories`. A definition
is a function from a `History` to the violations that it finds. An operation's number is its
position in the history.
"""
