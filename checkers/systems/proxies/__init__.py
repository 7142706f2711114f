"""Proxies between the nodes and clients of a cluster: they cut links and change traffic."""
