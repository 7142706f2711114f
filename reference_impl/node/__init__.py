"""The parts that brokers and the controller have in common: steps, timeouts and seeded bugs."""
