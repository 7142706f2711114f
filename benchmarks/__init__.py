"""Every performance claim, measured against a peer or a baseline in the same run, as a ratio."""
