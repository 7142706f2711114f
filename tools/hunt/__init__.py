"""The hunt: a nightly campaign of drawn runs on owned clusters, and the record of all of them."""
