"""Records histories of Apache Kafka while its brokers are killed and paused, and analyzes them."""
