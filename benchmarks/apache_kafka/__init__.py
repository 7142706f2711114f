"""Apache Kafka itself: brokers of its own jars, killed and paused, recorded and judged."""
