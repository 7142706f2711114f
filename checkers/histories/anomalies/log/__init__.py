"""One value an offset, one offset a value, nothing lost, nothing made up."""
