"""Repeats the proof of each version of a spec with ten seeds of Z3, and checks it once with
cvc5.
"""
