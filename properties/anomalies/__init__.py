"""Anomalies of histories: what clients must never observe, each in its literal, obvious form.

These definitions are the oracles of every fast kernel. They take a `History`, read it as often as
they like, and return rows that show the anomaly; numbers of operations are places in the history.
"""
