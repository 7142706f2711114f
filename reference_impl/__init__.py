"""A broker that does it: sans-I/O core, deterministic, independent of the specs."""
