"""Property suites: the claims are checked on generated runs of the reference broker."""
