"""Encrypts connections with TLS, and authenticates clients with SASL before their first request."""
