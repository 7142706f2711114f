"""The messages between clients, brokers and the controller. They do not depend on the versions of
Kafka's wire protocol.
"""
