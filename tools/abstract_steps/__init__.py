"""Counts how often each action of a proved spec is taken.

The actions are counted in explorations of detailed specs, in simulations of the reference broker,
and in log lines of Apache Kafka.
"""
