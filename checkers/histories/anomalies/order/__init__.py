"""The order in which processes read and write logs."""
