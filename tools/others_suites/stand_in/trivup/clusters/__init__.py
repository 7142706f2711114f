"""Clusters for the tests."""
