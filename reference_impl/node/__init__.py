"""What a broker and the controller share: step, context, timeouts and seeded bugs."""
