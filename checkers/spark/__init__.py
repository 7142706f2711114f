"""Runs Python functions in Spark tasks: the analysis of histories, the audit of log directories,
searches in rounds, and sweeps (simulations of one scenario with many seeds).
"""
