"""The broker: applies metadata and routes each request to the role that serves it."""
