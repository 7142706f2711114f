"""The catalogue of claims, and the literal form of each."""
