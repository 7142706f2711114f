"""The control port of a served cluster: HTTP on loopback, for tests in any language."""
