"""A cluster whose brokers have a process each, and exchange messages over TCP."""
