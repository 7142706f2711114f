"""The search for counterexamples: it generates runs within a budget, and returns a verdict on
each claim.
"""
