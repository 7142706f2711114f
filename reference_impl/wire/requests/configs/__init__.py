"""The settings of topics and brokers, and the handlers that describe and change them."""
