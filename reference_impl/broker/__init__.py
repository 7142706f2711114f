"""A broker: it applies the metadata and routes each request to the role that serves it."""
