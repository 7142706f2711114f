"""Counts how often explored specs, simulated brokers and real ones take each action.

The actions are those of the abstract specs, whose claims are proved.
"""
