"""The client's side of the protocol: requests to frames, frames to responses."""
