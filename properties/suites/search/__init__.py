"""The search for counterexamples: budgets, runs of Hypothesis, programs, and verdicts."""
