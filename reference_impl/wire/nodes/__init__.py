"""Runs the nodes (brokers and controller) of one process: clock, timers, messages, waiting
requests.
"""
