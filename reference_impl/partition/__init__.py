"""The two roles of a broker for a topic partition, leader and follower, and what each of them does."""
