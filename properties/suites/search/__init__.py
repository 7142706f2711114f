"""The search for counterexamples: budgets, runs with Hypothesis, printed programs and verdicts."""
