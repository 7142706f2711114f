"""Counts how often specs, simulated brokers and real ones take each action of proved specs."""
