"""Compares two systems: sends the same raw requests to both, and explains every difference between
their answers.
"""
