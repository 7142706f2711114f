"""Histories of clients: their readers, and the kernels that decide anomalies; no Spark here.

readers      histories as they are stored
columns      what kernels are made of: sorting, grouping, fingerprints, staircases
pieces       a history in pieces, and the two ways to look at it
inquiries    questions to all pieces, and what families share of the answers
families     the anomalies, as `properties.anomalies` has them
delivery     delivery semantics
deciding     all of it together; `analysis` is what an engine says of it
"""
