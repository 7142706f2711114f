"""The outputs of a run: terminal, run folder, HTML report, counterexamples, files for programs."""
