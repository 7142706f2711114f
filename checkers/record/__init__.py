"""Records what real clients observe: runs a workload on a cluster, and writes its history to
disk.
"""
