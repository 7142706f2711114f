"""Analyzes histories: finds the anomalies in the observations of clients, without Spark.

    io           reads histories in any format, and divides them into partitions
    columnar     arrays of integers: hashing, sorting, searching, bitsets
    plan         query plans: stages, the scheduler, and a dataset in this process
    facts        data about logs, offsets and values that several checkers need
    anomalies    the checkers: a query plan for each group of anomalies in `properties.anomalies`
    deciding     runs all checkers of a history as one plan
    analysis     the verdict on a history, as every engine returns it

The package `checkers.spark` runs the same query plans on Spark.
"""
