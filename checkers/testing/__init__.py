"""What the tests of other projects use: a broker to start, and the fixture of a pytest plugin."""
