"""Shows on real brokers that Kafka has the defects which counterexamples of the specs predict,
by fixed lists of requests and faults.
"""
