"""A history in pieces, and how kernels look at them."""
