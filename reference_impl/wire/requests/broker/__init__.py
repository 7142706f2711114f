"""What a handler sees of its broker: the interface, the topic ids, the fetch sessions."""
