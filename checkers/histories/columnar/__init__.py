"""What kernels are made of: Arrow and NumPy, sorted, grouped, fingerprinted."""
