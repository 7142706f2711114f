"""The search for counterexamples: generated runs, their budgets and their verdicts.

Hypothesis generates the runs. A counterexample is printed as a program that repeats it.
"""
