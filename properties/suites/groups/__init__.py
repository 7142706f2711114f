"""The suite `groups`: members of a consumer group join, leave, die and pause."""
