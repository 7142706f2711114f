"""A cluster in which each broker has a process of its own. The brokers exchange messages over
TCP.
"""
