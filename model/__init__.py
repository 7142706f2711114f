"""The specs of Kafka with their versions and bugs, their language, and histories."""
