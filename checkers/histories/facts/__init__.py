"""What batches show of logs, offsets and values, shared by several anomaly checkers."""
