"""Runs `urteil test` for each suite of the package with ten seeds, and records the verdicts."""
