"""The data directory of a served cluster: what survives the end of the process."""
