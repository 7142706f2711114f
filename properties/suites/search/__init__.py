"""The search for counterexamples: generated runs, their budgets and their verdicts."""
