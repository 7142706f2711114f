"""For the tests of other projects: a broker to start, and the fixture of a pytest plugin."""
