"""A small example history in Jepsen's EDN notation, with three faults and six anomalies."""
