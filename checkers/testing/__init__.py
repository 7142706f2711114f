"""Starts the reference broker in the tests of other projects, with the class `Broker` or with a
pytest fixture.
"""
