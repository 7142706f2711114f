"""Partition logs: record batches, segments, producer state, compaction and retention."""
