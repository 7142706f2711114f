"""What a run tells a person: the terminal, the run folder, counterexamples."""
