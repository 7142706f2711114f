"""What a run tells: terminal, run folder and its report, counterexamples, other programs."""
