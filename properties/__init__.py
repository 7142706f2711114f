"""The guarantees of Kafka: claims, anomalies of histories, refinement and property suites."""
