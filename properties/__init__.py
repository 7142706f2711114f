"""The guarantees of Kafka: claims, anomalies of histories, refinement checks and property
suites.
"""
