"""The client's side of the protocol: requests are written to frames, responses read from frames."""
