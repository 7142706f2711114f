"""Handles Kafka's requests. Each handler splits a request into parts, such as topic partitions,
calls the broker for each part, and joins the responses.
"""
