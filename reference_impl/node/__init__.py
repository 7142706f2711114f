"""What a broker and the controller share: the step of a node, timeouts and seeded bugs."""
