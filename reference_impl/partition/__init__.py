"""The two roles of a broker for a topic partition: it is either the leader or a follower."""
