"""Records and judges Apache Kafka while its brokers are killed and paused."""
