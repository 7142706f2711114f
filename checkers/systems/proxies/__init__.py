"""Proxies between the nodes and clients of a cluster, which can cut, drop, hold and reorder."""
