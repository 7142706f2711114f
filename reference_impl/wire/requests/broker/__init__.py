"""The part of a broker that request handlers use: its interface, topic ids and fetch sessions."""
