"""Counts how often explored specs, simulated brokers and real ones take each action of the proved
specs.
"""
