"""The two roles of a broker for one topic partition: leader and follower."""
