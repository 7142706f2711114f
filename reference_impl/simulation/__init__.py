"""A cluster in virtual time: one seeded scheduler controls clock, network, disks, faults and
clients.
"""
