"""The client's side of the Kafka protocol: writes requests as frames, and reads responses from
frames.
"""
