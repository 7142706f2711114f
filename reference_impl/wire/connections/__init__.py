"""Opens listeners, reads frames from connections, and limits all connections of a process."""
