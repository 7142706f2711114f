"""The history analysis and the log audit on Spark: kernels run in mapInArrow."""
