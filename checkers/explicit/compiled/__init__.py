"""The compiled engine: breadth-first search with generated C for the actions of one spec."""
