"""Histories of clients: their readers, and the kernels that decide anomalies; no Spark here."""
