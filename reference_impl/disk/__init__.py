"""The data directory of a cluster whose clients reach its brokers over the network."""
