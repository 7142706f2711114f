"""TLS on the listeners, and SASL before the first request."""
