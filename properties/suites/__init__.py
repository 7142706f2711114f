"""Property suites: Hypothesis generates runs of the reference broker, and the claims are
checked on each.
"""
