"""The handlers of Kafka's requests.

A handler splits a request into parts, such as one for each topic partition. The handler calls the
broker for each part, and joins the responses.
"""
