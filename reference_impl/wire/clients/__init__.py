"""The side of the client: typed requests to frames, and frames to typed responses."""
