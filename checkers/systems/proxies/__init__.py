"""Proxies between the nodes and clients of a cluster: they cut links, and drop, hold or reorder
requests.
"""
