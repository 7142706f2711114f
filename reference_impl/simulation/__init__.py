"""A cluster in virtual time: one seeded scheduler controls nodes, network, faults and clients."""
