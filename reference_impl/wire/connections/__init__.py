"""Sockets: a listener, a connection that reads frames, and the limits of all connections."""
