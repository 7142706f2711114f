"""The specs of Kafka with their versions and bugs, the language in which they are written, and
histories.
"""
