"""Engines, history analysis, the recorder, reports and the command line."""
