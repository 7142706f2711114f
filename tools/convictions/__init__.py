"""A campaign that looks for false convictions of `urteil analyze`."""
