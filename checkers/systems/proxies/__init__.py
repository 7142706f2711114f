"""Contains proxies between the nodes and clients of a cluster. They cut links and change the
traffic.
"""
