"""The guarantees of Kafka, in four forms: claims, anomalies of client histories, refinement checks
and property suites.
"""
