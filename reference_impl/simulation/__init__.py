"""A cluster in virtual time: one seeded scheduler owns clock, network, disks and crashes."""
