"""The two roles of a broker for a topic partition: leader and follower."""
