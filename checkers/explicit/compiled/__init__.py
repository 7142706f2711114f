"""Exploration by generated C: the actions of one spec, and a breadth-first search around them."""
