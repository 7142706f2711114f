"""Spark: the analysis of histories, the same kernels on a session's executors."""
