"""The client's side of the wire: requests become frames, and frames become responses."""
