"""The search for counterexamples: runs with Hypothesis, their budgets and their verdicts.

A counterexample is printed as a program that repeats it.
"""
