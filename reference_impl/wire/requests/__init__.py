"""The handlers of Kafka's requests: each splits a request into parts, such as topic partitions,
calls the broker for each, and joins the responses.
"""
