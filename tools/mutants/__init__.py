"""Mutation testing: changes the product at one point at a time, and runs the tests to see if one
fails.
"""
