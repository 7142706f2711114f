"""What is claimed: the catalogue, each predicate in its literal form, and the property suites."""
