"""The messages of the Kafka protocol: APIs, versions, headers and bodies, and the limits of a
frame.
"""
