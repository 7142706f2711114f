"""The catalogue of claims, and the literal definition of each claim that a suite decides."""
