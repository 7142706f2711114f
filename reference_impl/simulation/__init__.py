"""A simulation of a Kafka cluster in virtual time.

One scheduler with a random seed determines the order of all events: of the nodes, the network, the
faults and the clients.
"""
