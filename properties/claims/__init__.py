"""Claims: the guarantees and warnings of Kafka's documents. Each claim has an executable
definition.
"""
