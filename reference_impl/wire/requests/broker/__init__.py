"""The part of a broker that a handler may use: its interface, topic ids and fetch sessions."""
