"""Shows on real brokers the defects of Kafka that counterexamples of the specs predict. A fixed
list of requests and faults shows each defect.
"""
