"""Replaces the package trivup.clusters, which starts clusters for tests."""
