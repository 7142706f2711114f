"""The hunt: a nightly campaign of random runs on new clusters, and the record of all runs."""
