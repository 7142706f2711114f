"""The data directory of a cluster that clients reach over the network.

The directory keeps the cluster's data when the process has ended.
"""
