"""The TCP server of one broker; requests with many elements are handled in a separate thread."""
