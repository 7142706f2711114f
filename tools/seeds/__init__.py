"""A campaign that repeats the searches of the shipped suites on ten seeds."""
