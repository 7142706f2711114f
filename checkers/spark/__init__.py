"""The history analysis and the log audit on Spark, as Python functions in mapInArrow."""
