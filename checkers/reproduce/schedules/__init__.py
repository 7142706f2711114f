"""Fixed lists of requests and faults for real brokers. Each module reproduces one counterexample
of a spec.
"""
