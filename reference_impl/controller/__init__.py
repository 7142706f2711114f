"""The controller of a Kafka cluster: it registers and fences brokers, elects leaders, and manages
topics.
"""
