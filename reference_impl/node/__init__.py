"""The parts that brokers and the controller share: steps, timeouts and seeded bugs."""
