"""The order in which processes poll and send the records of a log."""
