"""Starts the reference broker in tests of other projects: by the class `Broker` or a pytest
fixture.
"""
