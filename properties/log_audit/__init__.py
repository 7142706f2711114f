"""The audit of log directories: what the files of brokers must be, in its literal, obvious form.

A history tells what clients saw; these checks look at what the replicas kept. They take `Logs`,
read them as often as they like, and return rows with the place of what is wrong: replica, topic
partition, segment file, byte and offset. They are the oracles of the fast kernels.
"""
