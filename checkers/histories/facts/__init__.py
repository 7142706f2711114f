"""Data about logs, offsets and values that several anomaly checkers need."""
