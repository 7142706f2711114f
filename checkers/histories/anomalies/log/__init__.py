"""Query plans of the rules of a log: one value per offset, one offset per value, nothing lost."""
