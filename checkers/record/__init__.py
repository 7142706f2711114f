"""Recording what real clients observe: a workload, and the history that it leaves on disk."""
