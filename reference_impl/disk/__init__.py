"""The data directory of a cluster that clients reach over the network."""
