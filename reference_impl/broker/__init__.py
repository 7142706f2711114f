"""A Kafka broker: it applies the metadata of the controller, and handles requests as a leader, as a
follower and as a coordinator.
"""
