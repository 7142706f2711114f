"""Property suites: each suite checks claims on generated runs of the reference broker."""
