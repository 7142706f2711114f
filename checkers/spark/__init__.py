"""The history analysis on Spark: the kernels of `checkers.histories`, run by mapInArrow."""
