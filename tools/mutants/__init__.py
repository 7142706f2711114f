"""A campaign that mutates the product one point at a time, to see whether its tests notice."""
