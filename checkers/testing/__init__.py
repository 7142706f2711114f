"""Starts the reference broker (Urteil's own broker) in the tests of other projects, with the class
`Broker` or with a pytest fixture.
"""
