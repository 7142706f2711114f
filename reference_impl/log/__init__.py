"""The log of a topic partition: record batches, segments, producer state, compaction and
retention.
"""
