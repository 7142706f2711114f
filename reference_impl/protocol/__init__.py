"""The messages between clients, brokers and the controller, independent of wire versions."""
