"""A broker: applies metadata, and handles each request as leader, follower or coordinator."""
