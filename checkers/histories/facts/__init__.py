"""Questions to a history in pieces, and what all families share of the answers."""
