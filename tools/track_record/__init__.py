"""Explores every bug and every old version of each spec, and records the verdict on the claim that
it should break.
"""
