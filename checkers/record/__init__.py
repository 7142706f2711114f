"""Records what real clients observe: runs a workload and writes its history to disk."""
