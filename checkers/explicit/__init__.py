"""Explicit exploration: every reachable state of a spec at a finite scope, breadth first."""
