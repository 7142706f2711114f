"""Query plans for the rules of a log: one value per offset, one offset per value, no lost value."""
