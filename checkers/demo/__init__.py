"""Contains a small example history in Jepsen's EDN notation. The history has three faults and six
anomalies.
"""
