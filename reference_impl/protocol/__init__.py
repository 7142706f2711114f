"""What clients, brokers and the controller send to each other, free of wire versions."""
