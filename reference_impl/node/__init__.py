"""What a broker and the controller share: the step, its context, the timeouts and the seeded bugs."""
