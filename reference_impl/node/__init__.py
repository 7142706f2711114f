"""What every node shares: one step, its context, its timeouts and its seeded bugs."""
