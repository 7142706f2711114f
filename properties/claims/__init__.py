"""Claims: Kafka's guarantees and warnings, with an executable definition of each."""
