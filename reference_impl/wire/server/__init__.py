"""The TCP server of one broker: it gives each frame to its handler, large ones in a thread."""
