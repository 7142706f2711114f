"""Starts and stops a cluster that clients reach over the network, in one process or in several."""
