"""The outputs of a run: terminal text, run folder, HTML report, counterexamples, and files for
other programs.
"""
